# Completion of warpaes for bash. Made by tools/command_pages.py.
_warpaes() {
    local current=${COMP_WORDS[COMP_CWORD]} words=
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="encrypt decrypt verify inspect keygen keys enc devices selftest bench plan calibrate lab --help --version"
    else
        case ${COMP_WORDS[1]} in
        encrypt) words="--aad --aad-file --backend --device --exclude --force --help --jobs --json --keys --no-progress --output --output-dir --passphrase-from --progress --skip-existing --template --threads -f -j -k -o -t" ;;
        decrypt) words="--aad --aad-file --backend --device --exclude --force --help --jobs --json --keys --no-progress --output --output-dir --passphrase-from --progress --range --skip-existing --template --threads -f -j -k -o -r -t" ;;
        verify) words="--aad --aad-file --backend --device --exclude --help --jobs --json --keys --no-progress --passphrase-from --progress --template --threads -j -k -t" ;;
        inspect) words="--aad --aad-file --help --json --keys --passphrase-from --template -k -t" ;;
        keygen) words="--help --output --passphrase --passphrase-from --passphrase-seconds --template -o -t" ;;
        keys) words="--help --json --new-passphrase-from --passphrase-from --passphrase-seconds --primary --remove -t list add promote disable enable destroy remove passphrase" ;;
        enc) words="--backend --chunk --depth --device --force --help --json --no-progress --progress --range --threads -A -K -S -a -base64 -d -e -f -in -iter -iv -k -kfile -md -nopad -nosalt -out -pass -pbkdf2 -aes-128-ecb -aes-128-cbc -aes-128-cfb -aes-128-cfb8 -aes-128-cfb1 -aes-128-ofb -aes-128-ctr -aes-192-ecb -aes-192-cbc -aes-192-cfb -aes-192-cfb8 -aes-192-cfb1 -aes-192-ofb -aes-192-ctr -aes-256-ecb -aes-256-cbc -aes-256-cfb -aes-256-cfb8 -aes-256-cfb1 -aes-256-ofb -aes-256-ctr" ;;
        devices) words="--help --json" ;;
        selftest) words="--help --json" ;;
        bench) words="--aad --backend --data-unit --device --direction --entry-each --force --help --in-flight --json --key --keys --memory --messages --mode --output --quick --samples --seconds --segment --size --threads -f -h -o" ;;
        plan) words="--backend --batch --bytes --device --direction --from --help --json --key-bits --keys --messages --mode --threads" ;;
        calibrate) words="--cpu-only --help --json --quick" ;;
        lab) words="--help" ;;
        esac
        case $current in
        -*) ;;
        *) [ "${COMP_WORDS[1]}" = keys ] && [ "$COMP_CWORD" -eq 2 ] || words= ;;
        esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    [ ${#COMPREPLY[@]} -ne 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "$current")
}
complete -o filenames -F _warpaes warpaes
