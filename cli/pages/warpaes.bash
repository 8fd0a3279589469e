# Completion of warpaes for bash. Made by tools/command_pages.py.
_warpaes_templates() {
    "${COMP_WORDS[0]}" keygen --help 2>/dev/null | sed -n 's/^  \([A-Z0-9_]*\)$/\1/p'
}
_warpaes_backends() {
    "${COMP_WORDS[0]}" devices 2>/dev/null | sed -n '1d;s/^\([a-z0-9]*\).*/\1/p'
}
_warpaes() {
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=
    if [ "$current" = "=" ]; then # --option=
        current=
    elif [ "$before" = "=" ]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    [[ " ${COMP_WORDS[*]:2:COMP_CWORD-2} " = *" -- "* ]] || case "${COMP_WORDS[1]} $before" in
    "encrypt --backend") words="auto $(_warpaes_backends)" ;;
    "encrypt --template") words="$(_warpaes_templates)" ;;
    "encrypt -t") words="$(_warpaes_templates)" ;;
    "decrypt --backend") words="auto $(_warpaes_backends)" ;;
    "decrypt --template") words="$(_warpaes_templates)" ;;
    "decrypt -t") words="$(_warpaes_templates)" ;;
    "cat --backend") words="auto $(_warpaes_backends)" ;;
    "cat --template") words="$(_warpaes_templates)" ;;
    "cat -t") words="$(_warpaes_templates)" ;;
    "verify --backend") words="auto $(_warpaes_backends)" ;;
    "verify --template") words="$(_warpaes_templates)" ;;
    "verify -t") words="$(_warpaes_templates)" ;;
    "reencrypt --backend") words="auto $(_warpaes_backends)" ;;
    "reencrypt --template") words="$(_warpaes_templates)" ;;
    "reencrypt --to-template") words="$(_warpaes_templates)" ;;
    "reencrypt -t") words="$(_warpaes_templates)" ;;
    "list --template") words="$(_warpaes_templates)" ;;
    "list -t") words="$(_warpaes_templates)" ;;
    "inspect --template") words="$(_warpaes_templates)" ;;
    "inspect -t") words="$(_warpaes_templates)" ;;
    "keygen --template") words="$(_warpaes_templates)" ;;
    "keygen -t") words="$(_warpaes_templates)" ;;
    "keys -t") words="$(_warpaes_templates)" ;;
    "enc --backend") words="auto $(_warpaes_backends)" ;;
    "enc -md") words="sha256 sha512 sha1 md5" ;;
    "enc -pass") words="env: file: fd: stdin pass:" ;;
    "provider --backend") words="auto $(_warpaes_backends)" ;;
    "provider --threads") words="auto" ;;
    "bench --backend") words="$(_warpaes_backends)" ;;
    "bench --direction") words="encrypt decrypt" ;;
    "bench --from") words="device page-locked arena pageable" ;;
    "bench --key-bits") words="128 192 256" ;;
    "bench --keys") words="one each" ;;
    "bench --mode") words="ecb cbc cfb128 cfb8 cfb1 ofb ctr xts gcm gmac" ;;
    "plan --backend") words="auto $(_warpaes_backends)" ;;
    "plan --direction") words="encrypt decrypt" ;;
    "plan --from") words="host page-locked device" ;;
    "plan --key-bits") words="128 192 256" ;;
    "plan --mode") words="ecb cbc cfb128 cfb8 cfb1 ofb ctr xts gcm ccm cmac" ;;
    esac
    if [ -n "$words" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
        return
    fi
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="encrypt decrypt cat verify reencrypt list inspect keygen keys enc provider devices selftest bench plan calibrate tune bulk keysources lab model parquet qkd --help --help-all --version"
    else
        case ${COMP_WORDS[1]} in
        encrypt) words="--aad --aad-file --backend --decrypt --device --dry-run --encrypt-names --exclude --force --help --help-all --include --jobs --json --kek --kek-aad --keys --no-progress --no-sync --output --output-dir --passphrase --passphrase-from --passphrase-seconds --progress --quiet --raw --skip-existing --template --threads --to --verbose -d -f -j -k -n -o -q -t -v" ;;
        decrypt) words="--aad --aad-file --backend --device --dry-run --encrypted-names --exclude --force --help --help-all --include --jobs --json --kek --kek-aad --keys --name --no-progress --no-sync --output --output-dir --passphrase --passphrase-from --progress --quiet --range --raw --salvage --skip-existing --template --threads --verbose -f -j -k -n -o -q -r -t -v" ;;
        cat) words="--aad --aad-file --backend --device --encrypted-names --help --help-all --jobs --json --kek --kek-aad --keys --name --no-progress --no-sync --passphrase --passphrase-from --progress --quiet --range --raw --template --threads --verbose -j -k -q -r -t -v" ;;
        verify) words="--aad --aad-file --backend --device --encrypted-names --exclude --help --help-all --include --jobs --json --kek --kek-aad --keys --name --no-progress --no-sync --passphrase --passphrase-from --progress --quiet --raw --template --threads --verbose -j -k -q -t -v" ;;
        reencrypt) words="--aad --aad-file --backend --device --encrypted-names --exclude --force --help --help-all --include --jobs --json --kek --kek-aad --keys --no-progress --no-sync --passphrase-from --progress --quiet --raw --template --threads --to --to-template --verbose -f -j -k -q -t -v" ;;
        list) words="--help --help-all --json --kek --kek-aad --keys --passphrase-from --raw --template -k -t" ;;
        inspect) words="--aad --aad-file --help --help-all --json --kek --kek-aad --keys --passphrase-from --raw --template -k -t" ;;
        keygen) words="--help --help-all --kek --kek-aad --output --passphrase --passphrase-from --passphrase-seconds --template -o -t" ;;
        keys) words="--help --help-all --json --kek --kek-aad --keys --new-passphrase-from --passphrase-from --passphrase-seconds --primary --remove -k -t list add promote disable enable destroy remove passphrase" ;;
        enc) words="--backend --chunk --depth --device --force --help --help-all --json --no-progress --progress --range --raw --threads -A -K -S -a -base64 -d -e -f -in -iter -iv -k -kfile -md -nopad -nosalt -out -pass -pbkdf2 -aes-128-ecb -aes-128-cbc -aes-128-cfb -aes-128-cfb8 -aes-128-cfb1 -aes-128-ofb -aes-128-ctr -aes-192-ecb -aes-192-cbc -aes-192-cfb -aes-192-cfb8 -aes-192-cfb1 -aes-192-ofb -aes-192-ctr -aes-256-ecb -aes-256-cbc -aes-256-cfb -aes-256-cfb8 -aes-256-cfb1 -aes-256-ofb -aes-256-ctr" ;;
        provider) words="--backend --cbc --config --counters --help --help-all --json --module --threads --threshold install check remove stats" ;;
        devices) words="--help --help-all --json" ;;
        selftest) words="--help --help-all --json" ;;
        bench) words="--aad --backend --data-unit --device --direction --entry-each --force --from --help --help-all --in-flight --json --key-bits --keys --messages --mode --output --quick --samples --seconds --segment --size --threads -f -o" ;;
        plan) words="--backend --batch --device --direction --from --help --help-all --json --key-bits --keys --messages --mode --size --threads" ;;
        calibrate) words="--cpu-only --help --help-all --json --quick" ;;
        tune) words="--device --dry-run --help --help-all --json --quick --show" ;;
        bulk) words="--help --help-all encrypt decrypt rekey rewrap verify adopt status" ;;
        keysources) words="--help --help-all new wrap open new-kek" ;;
        lab) words="--help --help-all" ;;
        model) words="--help --help-all encrypt verify inspect" ;;
        parquet) words="--help --help-all inspect verify decrypt encrypt rekey" ;;
        qkd) words="--help --help-all status send receive" ;;
        esac
        [[ " ${COMP_WORDS[*]:2:COMP_CWORD-2} " != *" -- "* ]] || words=
        case $current in
        -*) ;;
        *) [[ "${COMP_WORDS[1]}" = @(bulk|keys|keysources|model|parquet|provider|qkd) ]] &&
            [ "$COMP_CWORD" -eq 2 ] || words= ;;
        esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    [ ${#COMPREPLY[@]} -ne 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "$current")
}
complete -o filenames -o bashdefault -o default -F _warpaes warpaes
