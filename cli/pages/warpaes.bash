# Completion of warpaes for bash. Made by tools/command_pages.py.
_warpaes() {
    local current=${COMP_WORDS[COMP_CWORD]} words=
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="encrypt decrypt cat verify reencrypt inspect keygen keys enc provider devices selftest bench plan calibrate tune lab --help --help-all --version"
    else
        case ${COMP_WORDS[1]} in
        encrypt) words="--aad --aad-file --backend --decrypt --device --exclude --force --help --help-all --jobs --json --kek --kek-aad --keys --no-progress --no-sync --output --output-dir --passphrase-from --progress --quiet --skip-existing --template --threads --verbose -d -f -j -k -o -q -t -v" ;;
        decrypt) words="--aad --aad-file --backend --device --exclude --force --help --help-all --jobs --json --kek --kek-aad --keys --no-progress --no-sync --output --output-dir --passphrase-from --progress --quiet --range --skip-existing --template --threads --verbose -f -j -k -o -q -r -t -v" ;;
        cat) words="--aad --aad-file --backend --device --help --help-all --jobs --json --kek --kek-aad --keys --no-progress --no-sync --passphrase-from --progress --quiet --range --template --threads --verbose -j -k -q -r -t -v" ;;
        verify) words="--aad --aad-file --backend --device --exclude --help --help-all --jobs --json --kek --kek-aad --keys --no-progress --no-sync --passphrase-from --progress --quiet --template --threads --verbose -j -k -q -t -v" ;;
        reencrypt) words="--aad --aad-file --backend --device --exclude --force --help --help-all --jobs --json --kek --kek-aad --keys --no-progress --no-sync --passphrase-from --progress --quiet --template --threads --to --to-template --verbose -f -j -k -q -t -v" ;;
        inspect) words="--aad --aad-file --help --help-all --json --kek --kek-aad --keys --passphrase-from --template -k -t" ;;
        keygen) words="--help --help-all --kek --kek-aad --output --passphrase --passphrase-from --passphrase-seconds --template -o -t" ;;
        keys) words="--help --help-all --json --kek --kek-aad --keys --new-passphrase-from --passphrase-from --passphrase-seconds --primary --remove -k -t list add promote disable enable destroy remove passphrase" ;;
        enc) words="--backend --chunk --depth --device --force --help --help-all --json --no-progress --progress --range --threads -A -K -S -a -base64 -d -e -f -in -iter -iv -k -kfile -md -nopad -nosalt -out -pass -pbkdf2 -aes-128-ecb -aes-128-cbc -aes-128-cfb -aes-128-cfb8 -aes-128-cfb1 -aes-128-ofb -aes-128-ctr -aes-192-ecb -aes-192-cbc -aes-192-cfb -aes-192-cfb8 -aes-192-cfb1 -aes-192-ofb -aes-192-ctr -aes-256-ecb -aes-256-cbc -aes-256-cfb -aes-256-cfb8 -aes-256-cfb1 -aes-256-ofb -aes-256-ctr" ;;
        provider) words="--backend --cbc --config --counters --help --help-all --json --module --threads --threshold install check remove stats" ;;
        devices) words="--help --help-all --json" ;;
        selftest) words="--help --help-all --json" ;;
        bench) words="--aad --backend --data-unit --device --direction --entry-each --force --from --help --help-all --in-flight --json --key --key-bits --keys --memory --messages --mode --output --quick --samples --seconds --segment --size --threads -f -h -o" ;;
        plan) words="--backend --batch --device --direction --from --help --help-all --json --key-bits --keys --messages --mode --size --threads" ;;
        calibrate) words="--cpu-only --help --help-all --json --quick" ;;
        tune) words="--device --dry-run --help --help-all --json --quick --show" ;;
        lab) words="--help --help-all" ;;
        esac
        [[ " ${COMP_WORDS[*]:2:COMP_CWORD-2} " != *" -- "* ]] || words=
        case $current in
        -*) ;;
        *) [[ "${COMP_WORDS[1]}" = @(keys|provider) ]] && [ "$COMP_CWORD" -eq 2 ] || words= ;;
        esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    [ ${#COMPREPLY[@]} -ne 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "$current")
}
complete -o filenames -o bashdefault -o default -F _warpaes warpaes
