# Run `nix build ./packaging/nix` in a git checkout. The flake builds the repository that contains it.
{
  description = "AES at the speed of the hardware, on GPUs and CPUs";

  inputs.nixpkgs.url = "nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      each = f: nixpkgs.lib.genAttrs systems (system: f nixpkgs.legacyPackages.${system});
    in {
      packages = each (pkgs: {
        default = pkgs.stdenv.mkDerivation {
          pname = "warpaes";
          version = "1.0.0";
          src = ../..;
          nativeBuildInputs = [ pkgs.cmake pkgs.ninja pkgs.python3 ];
          buildInputs = [ pkgs.openssl pkgs.fmt pkgs.cli11 pkgs.nlohmann_json ];
          cmakeFlags = [ "-DWARPAES_TESTS=OFF" "-DWARPAES_LAB=OFF" "-DWARPAES_CUDA=OFF" ];
          doInstallCheck = true;
          installCheckPhase = "$out/bin/warpaes selftest";
          meta = {
            description = "AES at the speed of the hardware, on GPUs and CPUs";
            homepage = "https://git.warpaes.example/warpaes/warpaes";
            license = pkgs.lib.licenses.asl20;
            platforms = systems;
            mainProgram = "warpaes";
          };
        };
      });
    };
}
