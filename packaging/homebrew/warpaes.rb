# Homebrew on Linux: brew install --build-from-source packaging/homebrew/warpaes.rb
class Warpaes < Formula
  desc "AES at the speed of the hardware, on GPUs and CPUs"
  homepage "https://git.warpaes.example/warpaes/warpaes"
  url "https://git.warpaes.example/warpaes/warpaes.git", tag: "v1.0.0"
  license "Apache-2.0"

  depends_on "cli11" => :build
  depends_on "cmake" => :build
  depends_on "nlohmann-json" => :build
  depends_on "python@3.13" => :build
  depends_on "fmt"
  depends_on :linux
  depends_on "openssl@3"

  def install
    system "cmake", "-S", ".", "-B", "build", "-DWARPAES_TESTS=OFF", "-DWARPAES_LAB=OFF", "-DWARPAES_CUDA=OFF",
           *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    system bin/"warpaes", "keygen", "-o", "keyset.json"
    (testpath/"text").write "text"
    system bin/"warpaes", "encrypt", "-k", "keyset.json", "text"
    assert_equal "text", shell_output("#{bin}/warpaes cat -k keyset.json text.warpaes")
  end
end
