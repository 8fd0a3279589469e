# Completion of warpaes for fish. Made by tools/command_pages.py.
function _warpaes_templates
    warpaes keygen --help 2>/dev/null | sed -n 's/^  \([A-Z0-9_]*\)$/\1/p'
end
function _warpaes_backends
    warpaes devices 2>/dev/null | sed -n '1d;s/^\([a-z0-9]*\).*/\1/p'
end
complete -c warpaes -n __fish_use_subcommand -a encrypt -d 'encrypt files, with authentication'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l aad
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l aad-file
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l backend -x -a 'auto (_warpaes_backends)' -d 'auto (default) or one that `warpaes devices` lists'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l decrypt -d 'decrypt, as `warpaes decrypt` does; for'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l device -d 'use this CUDA device; default; all'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l dry-run -d 'print the files that would be created; write nothing'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l encrypt-names -d 'also encrypt names in DIR (with -k); see `warpaes list`'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l exclude
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l force -d 'overwrite results; write ciphertext to a terminal'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l include
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l jobs -d 'number of small files processed in parallel; default;'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l json -d 'print a JSON record of the run; to standard output, or'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l kek
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l kek-aad
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l keys -d 'a keyset (`warpaes keygen` creates it) or a raw key; a'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l no-progress
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l no-sync -d 'do not wait for the disk; a power failure can lose'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l output -d 'name of the result; -; standard output'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l output-dir -d 'encrypt files, and directories with everything below'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l passphrase
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l passphrase-from
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l passphrase-seconds
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l progress
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l quiet -d 'print no progress, notes or warnings'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l raw -d 'use a key of 16 or 32 bytes unchanged, even if it is'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l skip-existing -d 'with --output-dir; skip files whose result exists'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l template -x -a '(_warpaes_templates)' -d 'the template of a raw key, which has 16 or 32 bytes or'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l threads -d 'workers for a large file; default; one per processor'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l to
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l verbose -d 'print a line for each file; result, key, backend'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -s d -d 'decrypt, as `warpaes decrypt` does; for'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -s f -d 'overwrite results; write ciphertext to a terminal'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -s j -d 'number of small files processed in parallel; default;'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -s k
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -s n -d 'print the files that would be created; write nothing'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -s o
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -s q -d 'print no progress, notes or warnings'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -s t -x -a '(_warpaes_templates)' -d 'the template of a raw key, which has 16 or 32 bytes or'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -s v -d 'print a line for each file; result, key, backend'
complete -c warpaes -n __fish_use_subcommand -a decrypt -d 'decrypt files, or a part of one'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l aad
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l aad-file
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l backend -x -a 'auto (_warpaes_backends)' -d 'auto (default) or one that `warpaes devices` lists'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l device -d 'use this CUDA device; default; all'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l dry-run
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l encrypted-names -d 'FILE is a directory of `encrypt --encrypt-names`'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l exclude
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l force -d 'overwrite results'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l include
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l jobs -d 'number of small files processed in parallel; default;'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l json -d 'print a JSON record of the run; to standard output, or'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l kek
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l kek-aad
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l keys -d 'a keyset, whose enabled keys are tried, or a raw key; a'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l name -d 'with --encrypted-names; only this file (plain path)'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l no-progress
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l no-sync -d 'do not wait for the disk; a power failure can lose'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l output -d 'name of the result. Default, or -; standard output'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l output-dir -d 'decrypt files, and directories with everything below'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l passphrase
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l passphrase-from
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l progress
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l quiet -d 'print no progress, notes or warnings'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l range
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l raw -d 'use a key of 16 or 32 bytes unchanged, even if it is'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l salvage -d 'for damaged files; write every authentic segment, and'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l skip-existing
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l template -x -a '(_warpaes_templates)' -d 'the template of a raw key, which has 16 or 32 bytes or'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l threads -d 'workers for a large file; default; one per processor'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l verbose -d 'print a line for each file; result, key, backend'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -s f -d 'overwrite results'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -s j -d 'number of small files processed in parallel; default;'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -s k
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -s n
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -s o
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -s q -d 'print no progress, notes or warnings'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -s r
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -s t -x -a '(_warpaes_templates)' -d 'the template of a raw key, which has 16 or 32 bytes or'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -s v -d 'print a line for each file; result, key, backend'
complete -c warpaes -n __fish_use_subcommand -a cat -d 'write the plaintext of files to standard output'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l aad
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l aad-file
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l backend -x -a 'auto (_warpaes_backends)' -d 'auto (default) or one that `warpaes devices` lists'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l device -d 'use this CUDA device; default; all'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l encrypted-names
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l jobs -d 'number of small files processed in parallel; default;'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l json -d 'print a JSON record of the run; to standard output, or'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l kek
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l kek-aad
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l keys
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l name
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l no-progress
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l no-sync -d 'do not wait for the disk; a power failure can lose'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l passphrase
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l passphrase-from
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l progress
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l quiet -d 'print no progress, notes or warnings'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l range
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l raw -d 'use a key of 16 or 32 bytes unchanged, even if it is'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l template -x -a '(_warpaes_templates)' -d 'the template of a raw key, which has 16 or 32 bytes or'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l threads -d 'workers for a large file; default; one per processor'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l verbose -d 'print a line for each file; result, key, backend'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -s j -d 'number of small files processed in parallel; default;'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -s k
complete -c warpaes -n '__fish_seen_subcommand_from cat' -s q -d 'print no progress, notes or warnings'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -s r
complete -c warpaes -n '__fish_seen_subcommand_from cat' -s t -x -a '(_warpaes_templates)' -d 'the template of a raw key, which has 16 or 32 bytes or'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -s v -d 'print a line for each file; result, key, backend'
complete -c warpaes -n __fish_use_subcommand -a verify -d 'authenticate files, without output'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l aad
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l aad-file
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l backend -x -a 'auto (_warpaes_backends)' -d 'auto (default) or one that `warpaes devices` lists'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l device -d 'use this CUDA device; default; all'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l encrypted-names
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l exclude
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l include
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l jobs -d 'number of small files processed in parallel; default;'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l json -d 'print a JSON record of the run; to standard output, or'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l kek
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l kek-aad
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l keys
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l name
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l no-progress
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l no-sync -d 'do not wait for the disk; a power failure can lose'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l passphrase
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l passphrase-from
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l progress
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l quiet -d 'print no progress, notes or warnings'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l raw -d 'use a key of 16 or 32 bytes unchanged, even if it is'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l template -x -a '(_warpaes_templates)' -d 'the template of a raw key, which has 16 or 32 bytes or'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l threads -d 'workers for a large file; default; one per processor'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l verbose -d 'print a line for each file; result, key, backend'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -s j -d 'number of small files processed in parallel; default;'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -s k
complete -c warpaes -n '__fish_seen_subcommand_from verify' -s q -d 'print no progress, notes or warnings'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -s t -x -a '(_warpaes_templates)' -d 'the template of a raw key, which has 16 or 32 bytes or'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -s v -d 'print a line for each file; result, key, backend'
complete -c warpaes -n __fish_use_subcommand -a reencrypt -d 're-encrypt files under a different key'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l aad
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l aad-file
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l backend -x -a 'auto (_warpaes_backends)' -d 'auto (default) or one that `warpaes devices` lists'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l device -d 'use this CUDA device; default; all'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l encrypted-names -d 'FILE is a directory with encrypted names; they are'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l exclude
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l force -d 'also replace files that the new key opens'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l include
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l jobs -d 'number of small files processed in parallel; default;'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l json -d 'print a JSON record of the run; to standard output, or'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l kek
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l kek-aad
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l keys -d 'keys that open the files, as for `warpaes decrypt`'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l no-progress
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l no-sync -d 'do not wait for the disk; a power failure can lose'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l passphrase-from
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l progress
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l quiet -d 'print no progress, notes or warnings'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l raw -d 'use a key of 16 or 32 bytes unchanged, even if it is'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l template -x -a '(_warpaes_templates)' -d 'the template of a raw key, which has 16 or 32 bytes or'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l threads -d 'workers for a large file; default; one per processor'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l to
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l to-template -x -a '(_warpaes_templates)' -d 'the template of --to, if it is a raw key'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l verbose -d 'print a line for each file; result, key, backend'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -s f -d 'also replace files that the new key opens'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -s j -d 'number of small files processed in parallel; default;'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -s k
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -s q -d 'print no progress, notes or warnings'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -s t -x -a '(_warpaes_templates)' -d 'the template of a raw key, which has 16 or 32 bytes or'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -s v -d 'print a line for each file; result, key, backend'
complete -c warpaes -n __fish_use_subcommand -a list -d 'list the plain names of files with encrypted names'
complete -c warpaes -n '__fish_seen_subcommand_from list' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from list' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from list' -l json -d 'print a JSON record of plain names and stored paths'
complete -c warpaes -n '__fish_seen_subcommand_from list' -l kek
complete -c warpaes -n '__fish_seen_subcommand_from list' -l kek-aad
complete -c warpaes -n '__fish_seen_subcommand_from list' -l keys -d 'keys as for `warpaes decrypt`, or dataset;PLACE'
complete -c warpaes -n '__fish_seen_subcommand_from list' -l passphrase-from
complete -c warpaes -n '__fish_seen_subcommand_from list' -l raw -d 'use a key of 16 or 32 bytes unchanged, even if it is'
complete -c warpaes -n '__fish_seen_subcommand_from list' -l template -x -a '(_warpaes_templates)' -d 'the template of a raw key'
complete -c warpaes -n '__fish_seen_subcommand_from list' -s k
complete -c warpaes -n '__fish_seen_subcommand_from list' -s t -x -a '(_warpaes_templates)' -d 'the template of a raw key'
complete -c warpaes -n __fish_use_subcommand -a inspect -d 'show an encrypted files format and key'
complete -c warpaes -n '__fish_seen_subcommand_from inspect' -l aad
complete -c warpaes -n '__fish_seen_subcommand_from inspect' -l aad-file
complete -c warpaes -n '__fish_seen_subcommand_from inspect' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from inspect' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from inspect' -l json -d 'print a JSON record'
complete -c warpaes -n '__fish_seen_subcommand_from inspect' -l kek
complete -c warpaes -n '__fish_seen_subcommand_from inspect' -l kek-aad
complete -c warpaes -n '__fish_seen_subcommand_from inspect' -l keys -d 'keys as for `warpaes decrypt`. The command finds the'
complete -c warpaes -n '__fish_seen_subcommand_from inspect' -l passphrase-from
complete -c warpaes -n '__fish_seen_subcommand_from inspect' -l raw -d 'with -k; use a key of 16 or 32 bytes unchanged, even'
complete -c warpaes -n '__fish_seen_subcommand_from inspect' -l template -x -a '(_warpaes_templates)'
complete -c warpaes -n '__fish_seen_subcommand_from inspect' -s k
complete -c warpaes -n '__fish_seen_subcommand_from inspect' -s t -x -a '(_warpaes_templates)' -d 'assume this template (`warpaes keygen --help` lists'
complete -c warpaes -n __fish_use_subcommand -a keygen -d 'create a keyset'
complete -c warpaes -n '__fish_seen_subcommand_from keygen' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from keygen' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from keygen' -l kek
complete -c warpaes -n '__fish_seen_subcommand_from keygen' -l kek-aad -d 'associated data of this encryption, which is also'
complete -c warpaes -n '__fish_seen_subcommand_from keygen' -l output -d 'a new file with mode 0600; existing files are never'
complete -c warpaes -n '__fish_seen_subcommand_from keygen' -l passphrase
complete -c warpaes -n '__fish_seen_subcommand_from keygen' -l passphrase-from
complete -c warpaes -n '__fish_seen_subcommand_from keygen' -l passphrase-seconds
complete -c warpaes -n '__fish_seen_subcommand_from keygen' -l template -x -a '(_warpaes_templates)' -d 'the kind of key; default; the first in the list. C2SP'
complete -c warpaes -n '__fish_seen_subcommand_from keygen' -s o
complete -c warpaes -n '__fish_seen_subcommand_from keygen' -s t -x -a '(_warpaes_templates)'
complete -c warpaes -n __fish_use_subcommand -a keys -d 'list and rotate the keys of a keyset'
complete -c warpaes -n '__fish_seen_subcommand_from keys' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from keys' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from keys' -l json
complete -c warpaes -n '__fish_seen_subcommand_from keys' -l kek
complete -c warpaes -n '__fish_seen_subcommand_from keys' -l kek-aad
complete -c warpaes -n '__fish_seen_subcommand_from keys' -l keys -d 'the keyset, instead of KEYSET or $WARPAES_KEYSET'
complete -c warpaes -n '__fish_seen_subcommand_from keys' -l new-passphrase-from
complete -c warpaes -n '__fish_seen_subcommand_from keys' -l passphrase-from
complete -c warpaes -n '__fish_seen_subcommand_from keys' -l passphrase-seconds
complete -c warpaes -n '__fish_seen_subcommand_from keys' -l primary
complete -c warpaes -n '__fish_seen_subcommand_from keys' -l remove
complete -c warpaes -n '__fish_seen_subcommand_from keys' -s k -d 'the keyset, instead of KEYSET or $WARPAES_KEYSET'
complete -c warpaes -n '__fish_seen_subcommand_from keys' -s t -x -a '(_warpaes_templates)'
complete -c warpaes -n '__fish_seen_subcommand_from keys' -a list
complete -c warpaes -n '__fish_seen_subcommand_from keys' -a add
complete -c warpaes -n '__fish_seen_subcommand_from keys' -a promote
complete -c warpaes -n '__fish_seen_subcommand_from keys' -a disable
complete -c warpaes -n '__fish_seen_subcommand_from keys' -a enable
complete -c warpaes -n '__fish_seen_subcommand_from keys' -a destroy
complete -c warpaes -n '__fish_seen_subcommand_from keys' -a remove
complete -c warpaes -n '__fish_seen_subcommand_from keys' -a passphrase
complete -c warpaes -n __fish_use_subcommand -a enc -d 'encrypt and decrypt files as `openssl enc` does'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -l backend -x -a 'auto (_warpaes_backends)' -d 'auto (default) or one that `warpaes devices` lists'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -l chunk
complete -c warpaes -n '__fish_seen_subcommand_from enc' -l depth
complete -c warpaes -n '__fish_seen_subcommand_from enc' -l device -d 'use this CUDA device; default; all'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -l force -d 'overwrite -out; write ciphertext to a terminal'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -l json -d 'print a JSON record of the run; to standard output if'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -l no-progress
complete -c warpaes -n '__fish_seen_subcommand_from enc' -l progress
complete -c warpaes -n '__fish_seen_subcommand_from enc' -l range -d 'write only bytes FIRST to LAST of the result, both'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -l raw -d 'use the bytes in the file of -K as the key, even if'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -l threads
complete -c warpaes -n '__fish_seen_subcommand_from enc' -s A -d 'with -a; on a single line'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -s K -d 'hexadecimal digits, or their place; file;PATH,'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -s S -d 'use this salt of 8 bytes, and do not store it'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -s a -d 'ciphertext in base64'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -o base64 -d 'ciphertext in base64'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -s d
complete -c warpaes -n '__fish_seen_subcommand_from enc' -s e
complete -c warpaes -n '__fish_seen_subcommand_from enc' -s f -d 'overwrite -out; write ciphertext to a terminal'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -o in -d 'default; standard input, standard output'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -o iter -d 'use PBKDF2 with 10000 rounds, or with N. Without these'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -o iv -d '16 bytes; for CTR the first counter block'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -s k -d 'the passphrase, or a file with the passphrase as its'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -o kfile -d 'the passphrase, or a file with the passphrase as its'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -o md -x -a 'sha256 sha512 sha1 md5' -d 'default; sha256'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -o nopad -d 'ECB, CBC; do not pad (PKCS#7); the length of the'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -o nosalt -d 'use no salt'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -o out -d 'default; standard input, standard output'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -o pass -x -a 'env: file: fd: stdin pass:' -d 'pass;PASSWORD, env;NAME, file;PATH, fd;N, stdin'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -o pbkdf2 -d 'use PBKDF2 with 10000 rounds, or with N. Without these'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -a -aes-128-ecb
complete -c warpaes -n '__fish_seen_subcommand_from enc' -a -aes-128-cbc
complete -c warpaes -n '__fish_seen_subcommand_from enc' -a -aes-128-cfb
complete -c warpaes -n '__fish_seen_subcommand_from enc' -a -aes-128-cfb8
complete -c warpaes -n '__fish_seen_subcommand_from enc' -a -aes-128-cfb1
complete -c warpaes -n '__fish_seen_subcommand_from enc' -a -aes-128-ofb
complete -c warpaes -n '__fish_seen_subcommand_from enc' -a -aes-128-ctr
complete -c warpaes -n '__fish_seen_subcommand_from enc' -a -aes-192-ecb
complete -c warpaes -n '__fish_seen_subcommand_from enc' -a -aes-192-cbc
complete -c warpaes -n '__fish_seen_subcommand_from enc' -a -aes-192-cfb
complete -c warpaes -n '__fish_seen_subcommand_from enc' -a -aes-192-cfb8
complete -c warpaes -n '__fish_seen_subcommand_from enc' -a -aes-192-cfb1
complete -c warpaes -n '__fish_seen_subcommand_from enc' -a -aes-192-ofb
complete -c warpaes -n '__fish_seen_subcommand_from enc' -a -aes-192-ctr
complete -c warpaes -n '__fish_seen_subcommand_from enc' -a -aes-256-ecb
complete -c warpaes -n '__fish_seen_subcommand_from enc' -a -aes-256-cbc
complete -c warpaes -n '__fish_seen_subcommand_from enc' -a -aes-256-cfb
complete -c warpaes -n '__fish_seen_subcommand_from enc' -a -aes-256-cfb8
complete -c warpaes -n '__fish_seen_subcommand_from enc' -a -aes-256-cfb1
complete -c warpaes -n '__fish_seen_subcommand_from enc' -a -aes-256-ofb
complete -c warpaes -n '__fish_seen_subcommand_from enc' -a -aes-256-ctr
complete -c warpaes -n __fish_use_subcommand -a provider -d 'provide AES to programs that use OpenSSL'
complete -c warpaes -n '__fish_seen_subcommand_from provider' -l backend -x -a 'auto (_warpaes_backends)' -d 'install; auto or one that `warpaes devices` lists;'
complete -c warpaes -n '__fish_seen_subcommand_from provider' -l cbc -d 'install; also provide CBC'
complete -c warpaes -n '__fish_seen_subcommand_from provider' -l config -d 'use this openssl.cnf; default; the openssl.cnf of'
complete -c warpaes -n '__fish_seen_subcommand_from provider' -l counters -d 'install; count in this file; stats; read it'
complete -c warpaes -n '__fish_seen_subcommand_from provider' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from provider' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from provider' -l json -d 'check, stats; print a JSON record'
complete -c warpaes -n '__fish_seen_subcommand_from provider' -l module -d 'install; the path of warpaes.so; default; the module'
complete -c warpaes -n '__fish_seen_subcommand_from provider' -l threads -x -a 'auto' -d 'install; threads for long updates; auto; the fastest'
complete -c warpaes -n '__fish_seen_subcommand_from provider' -l threshold -d 'install; minimum length of updates that may use several'
complete -c warpaes -n '__fish_seen_subcommand_from provider' -a install
complete -c warpaes -n '__fish_seen_subcommand_from provider' -a check
complete -c warpaes -n '__fish_seen_subcommand_from provider' -a remove
complete -c warpaes -n '__fish_seen_subcommand_from provider' -a stats
complete -c warpaes -n __fish_use_subcommand -a devices -d 'list backends and devices'
complete -c warpaes -n '__fish_seen_subcommand_from devices' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from devices' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from devices' -l json
complete -c warpaes -n __fish_use_subcommand -a selftest -d 'run known-answer tests on every backend'
complete -c warpaes -n '__fish_seen_subcommand_from selftest' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from selftest' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from selftest' -l json
complete -c warpaes -n __fish_use_subcommand -a bench -d 'measure throughput'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l aad -d 'with --messages; bytes of associated data of GCM and CCM;'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l backend -x -a '(_warpaes_backends)' -d 'as `warpaes devices` lists them; default; all'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l data-unit -d 'data units of XTS; default; 4K'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l device -d 'the GPU; -1; all GPUs, for data in host memory. Default;'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l direction -x -a 'encrypt decrypt' -d 'encrypt, decrypt'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l entry-each -d 'with --messages; use one batch entry for each message,'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l force -d 'overwrite FILE'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l from -x -a 'device page-locked arena pageable' -d 'memory that holds the data; device, page-locked (with'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l in-flight -d 'with --messages; batches in flight; default; 1, or 4 for'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l json -d 'print JSON instead of a table'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l key-bits -x -a '128 192 256' -d '128, 192, 256; default; 128,256'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l keys -x -a 'one each' -d 'with --messages; one (the same key for all messages) or'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l messages -d 'measure batches of this many messages, each of --size'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l mode -x -a 'ecb cbc cfb128 cfb8 cfb1 ofb ctr xts gcm gmac' -d 'ecb, cbc, cfb128, cfb8, cfb1, ofb, ctr, xts, gcm, gmac;'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l output -d 'also store the JSON in FILE'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l quick -d 'measure fewer sizes'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l samples -d 'samples for each case; default; 9. The table shows the'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l seconds -d 'approximate time for each case; default; 0.3'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l segment -d 'also measure GCM in segments of these sizes; default;'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l size -d 'message sizes, such as 64K,1M,1G'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l threads -d 'host threads of a CPU backend; 0; all. Default; 1'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -s f -d 'overwrite it'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -s o -d 'also store the JSON in this file'
complete -c warpaes -n __fish_use_subcommand -a plan -d 'predict the backend and the time of a call'
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l backend -x -a 'auto (_warpaes_backends)' -d 'assume this backend'
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l batch -d 'plan a batch, even of one message'
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l device -d 'assume this GPU'
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l direction -x -a 'encrypt decrypt' -d 'encrypt (default) or decrypt'
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l from -x -a 'host page-locked device' -d 'memory that holds the data; host (pageable, default),'
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l json -d 'print a JSON record'
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l key-bits -x -a '128 192 256' -d '128 (default), 192 or 256'
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l keys -d 'number of distinct keys (default; 1)'
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l messages -d 'number of messages in one batch (default; 1, no batch)'
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l mode -x -a 'ecb cbc cfb128 cfb8 cfb1 ofb ctr xts gcm ccm cmac'
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l size
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l threads -d 'maximum number of host threads (default; all processors)'
complete -c warpaes -n __fish_use_subcommand -a calibrate -d 'measure this machine for the planner'
complete -c warpaes -n '__fish_seen_subcommand_from calibrate' -l cpu-only
complete -c warpaes -n '__fish_seen_subcommand_from calibrate' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from calibrate' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from calibrate' -l json
complete -c warpaes -n '__fish_seen_subcommand_from calibrate' -l quick
complete -c warpaes -n __fish_use_subcommand -a tune -d 'find the fastest launch parameters of a GPU'
complete -c warpaes -n '__fish_seen_subcommand_from tune' -l device
complete -c warpaes -n '__fish_seen_subcommand_from tune' -l dry-run
complete -c warpaes -n '__fish_seen_subcommand_from tune' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from tune' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from tune' -l json
complete -c warpaes -n '__fish_seen_subcommand_from tune' -l quick
complete -c warpaes -n '__fish_seen_subcommand_from tune' -l show
complete -c warpaes -n __fish_use_subcommand -a bulk -d 'encrypt and re-encrypt datasets (Python package)'
complete -c warpaes -n '__fish_seen_subcommand_from bulk' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from bulk' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from bulk' -a encrypt
complete -c warpaes -n '__fish_seen_subcommand_from bulk' -a decrypt
complete -c warpaes -n '__fish_seen_subcommand_from bulk' -a rekey
complete -c warpaes -n '__fish_seen_subcommand_from bulk' -a rewrap
complete -c warpaes -n '__fish_seen_subcommand_from bulk' -a verify
complete -c warpaes -n '__fish_seen_subcommand_from bulk' -a adopt
complete -c warpaes -n '__fish_seen_subcommand_from bulk' -a status
complete -c warpaes -n __fish_use_subcommand -a keysources -d 'wrap keysets with key managers (Python package)'
complete -c warpaes -n '__fish_seen_subcommand_from keysources' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from keysources' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from keysources' -a new
complete -c warpaes -n '__fish_seen_subcommand_from keysources' -a wrap
complete -c warpaes -n '__fish_seen_subcommand_from keysources' -a open
complete -c warpaes -n '__fish_seen_subcommand_from keysources' -a new-kek
complete -c warpaes -n __fish_use_subcommand -a lab -d 'run published experiments (program warpaes-lab)'
complete -c warpaes -n '__fish_seen_subcommand_from lab' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from lab' -l help-all -d 'print all of it and exit'
complete -c warpaes -n __fish_use_subcommand -a model -d 'encrypt model folders (Python package)'
complete -c warpaes -n '__fish_seen_subcommand_from model' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from model' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from model' -a encrypt
complete -c warpaes -n '__fish_seen_subcommand_from model' -a verify
complete -c warpaes -n '__fish_seen_subcommand_from model' -a inspect
complete -c warpaes -n __fish_use_subcommand -a parquet -d 'encrypt Parquet files (Python package)'
complete -c warpaes -n '__fish_seen_subcommand_from parquet' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from parquet' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from parquet' -a inspect
complete -c warpaes -n '__fish_seen_subcommand_from parquet' -a verify
complete -c warpaes -n '__fish_seen_subcommand_from parquet' -a decrypt
complete -c warpaes -n '__fish_seen_subcommand_from parquet' -a encrypt
complete -c warpaes -n '__fish_seen_subcommand_from parquet' -a rekey
complete -c warpaes -n __fish_use_subcommand -a qkd -d 'encrypt files with quantum-distributed keys (Python package)'
complete -c warpaes -n '__fish_seen_subcommand_from qkd' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from qkd' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from qkd' -a status
complete -c warpaes -n '__fish_seen_subcommand_from qkd' -a send
complete -c warpaes -n '__fish_seen_subcommand_from qkd' -a receive
