# Completion of warpaes for fish. Made by tools/command_pages.py.
complete -c warpaes -n __fish_use_subcommand -a encrypt -d 'encrypt files, authenticated'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l aad
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l aad-file
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l backend -d 'auto (default), libcrypto, aesni, vaes, armv8, cuda; see `warpaes devices`'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l decrypt -d 'decrypt, as `warpaes decrypt`; for tar -I warpaes encrypt -k keyset.json'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l device -d 'this CUDA device; default; all'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l exclude -d 'leave out of directories what is called so (*.tmp, .git), or lies there'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l force -d 'overwrite; write ciphertext to a terminal'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l jobs -d 'small files at a time; default; one per processor'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l json -d 'a record of the run; on standard output unless the data goes there'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l kek
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l kek-aad
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l keys -d 'a keyset (`warpaes keygen` makes one) or a raw key; a path, env;NAME, fd;N, or'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l no-progress
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l no-sync -d 'do not wait until the disk has the results; who loses power may lose them'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l output -d 'another name for the result; -; standard output'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l output-dir -d 'for directories with everything below them, and for files; each result'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l passphrase-from
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l progress
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l quiet -d 'no progress, no notes, no warnings'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l skip-existing -d 'with --output-dir; leave results that are there already as they are'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l template -d 'of a raw key (16 or 32 bytes or twice as many hexadecimal digits), as in'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l threads -d 'workers on a large file; default; one per processor'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -l verbose -d 'a line for each file; what became of it, by which key, on what'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -s d -d 'decrypt, as `warpaes decrypt`; for tar -I warpaes encrypt -k keyset.json'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -s f -d 'overwrite; write ciphertext to a terminal'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -s j -d 'small files at a time; default; one per processor'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -s k
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -s o
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -s q -d 'no progress, no notes, no warnings'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -s t -d 'of a raw key (16 or 32 bytes or twice as many hexadecimal digits), as in'
complete -c warpaes -n '__fish_seen_subcommand_from encrypt' -s v -d 'a line for each file; what became of it, by which key, on what'
complete -c warpaes -n __fish_use_subcommand -a decrypt -d 'decrypt them, or a part of one'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l aad
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l aad-file
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l backend -d 'auto (default), libcrypto, aesni, vaes, armv8, cuda; see `warpaes devices`'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l device -d 'this CUDA device; default; all'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l exclude
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l force -d 'overwrite'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l jobs -d 'small files at a time; default; one per processor'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l json -d 'a record of the run; on standard output unless the data goes there'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l kek
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l kek-aad
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l keys -d 'a keyset, of which every enabled key is tried, or a raw key; a path, env;NAME,'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l no-progress
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l no-sync -d 'do not wait until the disk has the results; who loses power may lose them'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l output -d 'default, or -; standard output'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l output-dir -d 'for several files, and for directories with everything below them; each'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l passphrase-from
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l progress
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l quiet -d 'no progress, no notes, no warnings'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l range
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l skip-existing
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l template -d 'of a raw key (16 or 32 bytes or twice as many hexadecimal digits), as in'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l threads -d 'workers on a large file; default; one per processor'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -l verbose -d 'a line for each file; what became of it, by which key, on what'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -s f -d 'overwrite'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -s j -d 'small files at a time; default; one per processor'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -s k
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -s o
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -s q -d 'no progress, no notes, no warnings'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -s r
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -s t -d 'of a raw key (16 or 32 bytes or twice as many hexadecimal digits), as in'
complete -c warpaes -n '__fish_seen_subcommand_from decrypt' -s v -d 'a line for each file; what became of it, by which key, on what'
complete -c warpaes -n __fish_use_subcommand -a cat -d 'write the plaintext of several to standard output'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l aad
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l aad-file
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l backend -d 'auto (default), libcrypto, aesni, vaes, armv8, cuda; see `warpaes devices`'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l device -d 'this CUDA device; default; all'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l jobs -d 'small files at a time; default; one per processor'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l json -d 'a record of the run; on standard output unless the data goes there'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l kek
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l kek-aad
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l keys -d 'as for `warpaes decrypt`'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l no-progress
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l no-sync -d 'do not wait until the disk has the results; who loses power may lose them'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l passphrase-from
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l progress
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l quiet -d 'no progress, no notes, no warnings'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l range
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l template -d 'of a raw key (16 or 32 bytes or twice as many hexadecimal digits), as in'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l threads -d 'workers on a large file; default; one per processor'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -l verbose -d 'a line for each file; what became of it, by which key, on what'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -s j -d 'small files at a time; default; one per processor'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -s k
complete -c warpaes -n '__fish_seen_subcommand_from cat' -s q -d 'no progress, no notes, no warnings'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -s r
complete -c warpaes -n '__fish_seen_subcommand_from cat' -s t -d 'of a raw key (16 or 32 bytes or twice as many hexadecimal digits), as in'
complete -c warpaes -n '__fish_seen_subcommand_from cat' -s v -d 'a line for each file; what became of it, by which key, on what'
complete -c warpaes -n __fish_use_subcommand -a verify -d 'authenticate them and write nothing'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l aad
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l aad-file
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l backend -d 'auto (default), libcrypto, aesni, vaes, armv8, cuda; see `warpaes devices`'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l device -d 'this CUDA device; default; all'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l exclude -d 'as for `warpaes encrypt`'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l jobs -d 'small files at a time; default; one per processor'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l json -d 'a record of the run; on standard output unless the data goes there'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l kek
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l kek-aad
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l keys -d 'as for `warpaes decrypt`'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l no-progress
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l no-sync -d 'do not wait until the disk has the results; who loses power may lose them'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l passphrase-from
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l progress
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l quiet -d 'no progress, no notes, no warnings'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l template -d 'of a raw key (16 or 32 bytes or twice as many hexadecimal digits), as in'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l threads -d 'workers on a large file; default; one per processor'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -l verbose -d 'a line for each file; what became of it, by which key, on what'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -s j -d 'small files at a time; default; one per processor'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -s k
complete -c warpaes -n '__fish_seen_subcommand_from verify' -s q -d 'no progress, no notes, no warnings'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -s t -d 'of a raw key (16 or 32 bytes or twice as many hexadecimal digits), as in'
complete -c warpaes -n '__fish_seen_subcommand_from verify' -s v -d 'a line for each file; what became of it, by which key, on what'
complete -c warpaes -n __fish_use_subcommand -a reencrypt -d 'encrypt them anew with another key, in place'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l aad
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l aad-file
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l backend -d 'auto (default), libcrypto, aesni, vaes, armv8, cuda; see `warpaes devices`'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l device -d 'this CUDA device; default; all'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l exclude -d 'as for `warpaes encrypt`'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l force -d 'also what has the new key already'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l jobs -d 'small files at a time; default; one per processor'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l json -d 'a record of the run; on standard output unless the data goes there'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l kek
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l kek-aad
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l keys -d 'what opens the files, as for `warpaes decrypt`'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l no-progress
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l no-sync -d 'do not wait until the disk has the results; who loses power may lose them'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l passphrase-from
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l progress
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l quiet -d 'no progress, no notes, no warnings'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l template -d 'of a raw key (16 or 32 bytes or twice as many hexadecimal digits), as in'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l threads -d 'workers on a large file; default; one per processor'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l to
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l to-template -d 'of --to, where that is a raw key'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -l verbose -d 'a line for each file; what became of it, by which key, on what'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -s f -d 'also what has the new key already'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -s j -d 'small files at a time; default; one per processor'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -s k
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -s q -d 'no progress, no notes, no warnings'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -s t -d 'of a raw key (16 or 32 bytes or twice as many hexadecimal digits), as in'
complete -c warpaes -n '__fish_seen_subcommand_from reencrypt' -s v -d 'a line for each file; what became of it, by which key, on what'
complete -c warpaes -n __fish_use_subcommand -a inspect -d 'what an encrypted file says of itself'
complete -c warpaes -n '__fish_seen_subcommand_from inspect' -l aad
complete -c warpaes -n '__fish_seen_subcommand_from inspect' -l aad-file
complete -c warpaes -n '__fish_seen_subcommand_from inspect' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from inspect' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from inspect' -l json -d 'the same for programs'
complete -c warpaes -n '__fish_seen_subcommand_from inspect' -l kek
complete -c warpaes -n '__fish_seen_subcommand_from inspect' -l kek-aad
complete -c warpaes -n '__fish_seen_subcommand_from inspect' -l keys -d 'keys as for `warpaes decrypt`; finds the one that opens the file, which makes'
complete -c warpaes -n '__fish_seen_subcommand_from inspect' -l passphrase-from
complete -c warpaes -n '__fish_seen_subcommand_from inspect' -l template
complete -c warpaes -n '__fish_seen_subcommand_from inspect' -s k
complete -c warpaes -n '__fish_seen_subcommand_from inspect' -s t -d 'take it for a file of this template (`warpaes keygen --help` lists them)'
complete -c warpaes -n __fish_use_subcommand -a keygen -d 'make a keyset'
complete -c warpaes -n '__fish_seen_subcommand_from keygen' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from keygen' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from keygen' -l kek
complete -c warpaes -n '__fish_seen_subcommand_from keygen' -l kek-aad -d 'associated data of this encryption, which opening the keyset takes again'
complete -c warpaes -n '__fish_seen_subcommand_from keygen' -l output -d 'a new file, for its owner alone (mode 0600); never overwritten.'
complete -c warpaes -n '__fish_seen_subcommand_from keygen' -l passphrase
complete -c warpaes -n '__fish_seen_subcommand_from keygen' -l passphrase-from
complete -c warpaes -n '__fish_seen_subcommand_from keygen' -l passphrase-seconds
complete -c warpaes -n '__fish_seen_subcommand_from keygen' -l template -d 'what kind of key; the default is the first of those below. C2SP chunked encryption'
complete -c warpaes -n '__fish_seen_subcommand_from keygen' -s o
complete -c warpaes -n '__fish_seen_subcommand_from keygen' -s t
complete -c warpaes -n __fish_use_subcommand -a keys -d 'what a keyset holds, and the rotation of its keys'
complete -c warpaes -n '__fish_seen_subcommand_from keys' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from keys' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from keys' -l json
complete -c warpaes -n '__fish_seen_subcommand_from keys' -l kek
complete -c warpaes -n '__fish_seen_subcommand_from keys' -l kek-aad
complete -c warpaes -n '__fish_seen_subcommand_from keys' -l keys -d 'the keyset, where KEYSET is not given; default; what WARPAES_KEYSET says'
complete -c warpaes -n '__fish_seen_subcommand_from keys' -l new-passphrase-from
complete -c warpaes -n '__fish_seen_subcommand_from keys' -l passphrase-from
complete -c warpaes -n '__fish_seen_subcommand_from keys' -l passphrase-seconds
complete -c warpaes -n '__fish_seen_subcommand_from keys' -l primary
complete -c warpaes -n '__fish_seen_subcommand_from keys' -l remove
complete -c warpaes -n '__fish_seen_subcommand_from keys' -s k -d 'the keyset, where KEYSET is not given; default; what WARPAES_KEYSET says'
complete -c warpaes -n '__fish_seen_subcommand_from keys' -s t
complete -c warpaes -n '__fish_seen_subcommand_from keys' -a list
complete -c warpaes -n '__fish_seen_subcommand_from keys' -a add
complete -c warpaes -n '__fish_seen_subcommand_from keys' -a promote
complete -c warpaes -n '__fish_seen_subcommand_from keys' -a disable
complete -c warpaes -n '__fish_seen_subcommand_from keys' -a enable
complete -c warpaes -n '__fish_seen_subcommand_from keys' -a destroy
complete -c warpaes -n '__fish_seen_subcommand_from keys' -a remove
complete -c warpaes -n '__fish_seen_subcommand_from keys' -a passphrase
complete -c warpaes -n __fish_use_subcommand -a enc -d 'encrypt and decrypt files as `openssl enc` does'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -l backend -d 'auto (default), libcrypto, aesni, vaes, armv8, cuda; see `warpaes devices`'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -l chunk
complete -c warpaes -n '__fish_seen_subcommand_from enc' -l depth
complete -c warpaes -n '__fish_seen_subcommand_from enc' -l device -d 'this CUDA device; default; all'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -l force -d 'overwrite -out; write ciphertext to a terminal'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -l json -d 'a record of the run; on standard output if -out names a file, else on'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -l no-progress
complete -c warpaes -n '__fish_seen_subcommand_from enc' -l progress
complete -c warpaes -n '__fish_seen_subcommand_from enc' -l range -d 'only these bytes of the result, both included (LAST may be left out);'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -l threads
complete -c warpaes -n '__fish_seen_subcommand_from enc' -s A -d 'with -a; in a single line'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -s K -d 'hexadecimal digits, or where they are; file;PATH (or the raw bytes),'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -s S -d 'this salt (8 bytes), not in the file'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -s a -d 'ciphertext in base64'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -o base64 -d 'ciphertext in base64'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -s d
complete -c warpaes -n '__fish_seen_subcommand_from enc' -s e
complete -c warpaes -n '__fish_seen_subcommand_from enc' -s f -d 'overwrite -out; write ciphertext to a terminal'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -o in -d 'default; standard input, standard output'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -o iter -d 'PBKDF2, 10000 rounds unless N is given. Without; openssls older, weak'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -o iv -d '16 bytes; for CTR the first counter block'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -s k -d 'the passphrase; the first line of a file. Of a line in a file openssl'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -o kfile -d 'the passphrase; the first line of a file. Of a line in a file openssl'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -o md -d 'default sha256'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -o nopad -d 'ECB, CBC; no PKCS#7 padding; the input is whole 16-byte blocks'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -o nosalt -d 'no salt'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -o out -d 'default; standard input, standard output'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -o pass -d 'pass;PASSWORD, env;NAME, file;PATH, fd;N, stdin'
complete -c warpaes -n '__fish_seen_subcommand_from enc' -o pbkdf2 -d 'PBKDF2, 10000 rounds unless N is given. Without; openssls older, weak'
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
complete -c warpaes -n __fish_use_subcommand -a provider -d 'OpenSSL with warpaes in it, for every program'
complete -c warpaes -n '__fish_seen_subcommand_from provider' -l backend -d 'install; auto, aesni, vaes, armv8, cuda, or libcrypto, which leaves all to OpenSSL'
complete -c warpaes -n '__fish_seen_subcommand_from provider' -l cbc -d 'install; CBC as well'
complete -c warpaes -n '__fish_seen_subcommand_from provider' -l config -d 'another openssl.cnf than that of the command openssl'
complete -c warpaes -n '__fish_seen_subcommand_from provider' -l counters -d 'install; count in this file; stats; read it'
complete -c warpaes -n '__fish_seen_subcommand_from provider' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from provider' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from provider' -l json -d 'check, stats; as JSON'
complete -c warpaes -n '__fish_seen_subcommand_from provider' -l module -d 'install; warpaes.so; the default is the one beside this program'
complete -c warpaes -n '__fish_seen_subcommand_from provider' -l threads -d 'install; threads for long updates; auto; as many as pay. Default; 1'
complete -c warpaes -n '__fish_seen_subcommand_from provider' -l threshold -d 'install; updates from this length on may go to several threads or a GPU'
complete -c warpaes -n '__fish_seen_subcommand_from provider' -a install
complete -c warpaes -n '__fish_seen_subcommand_from provider' -a check
complete -c warpaes -n '__fish_seen_subcommand_from provider' -a remove
complete -c warpaes -n '__fish_seen_subcommand_from provider' -a stats
complete -c warpaes -n __fish_use_subcommand -a devices -d 'what can run here, and why not'
complete -c warpaes -n '__fish_seen_subcommand_from devices' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from devices' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from devices' -l json
complete -c warpaes -n __fish_use_subcommand -a selftest -d 'known answers on every backend'
complete -c warpaes -n '__fish_seen_subcommand_from selftest' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from selftest' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from selftest' -l json
complete -c warpaes -n __fish_use_subcommand -a bench -d 'measure throughput'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l aad -d '--messages; bytes of associated data of GCM and CCM (default 0)'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l backend -d 'only these; libcrypto, aesni, vaes, armv8, cuda'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l data-unit -d 'data units of XTS (default 4K)'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l device
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l direction -d 'only encrypt or decrypt'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l entry-each -d '--messages; an entry a message, instead of one for all'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l force -d 'overwrite it'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l from -d 'where the data lies; device, page-locked (--messages; arena), pageable'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l in-flight -d '--messages; batches at a time (default 1; device memory; 4)'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l json -d 'print JSON instead of a table'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l key
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l key-bits
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l keys -d '--messages; one key for all, or a fresh one for each'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l memory -d 'where the data lies; device, page-locked (--messages; arena), pageable'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l messages
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l mode -d 'only these; ecb, cbc, cfb128, cfb8, cfb1, ofb, ctr, xts, gcm, gmac (default; the parallel ones)'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l output -d 'also store the JSON in this file'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l quick -d 'few sizes'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l samples
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l seconds
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l segment -d 'GCM also in segments of these sizes (default 1M,16K, from 64M on)'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l size -d 'message sizes, like 64K,1M,1G'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -l threads -d 'host threads of a CPU backend (default 1; 0; all)'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -s f -d 'overwrite it'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -s h -d 'Print this help message and exit'
complete -c warpaes -n '__fish_seen_subcommand_from bench' -s o -d 'also store the JSON in this file'
complete -c warpaes -n __fish_use_subcommand -a plan -d 'which backend would do it, and what it would take'
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l backend -d 'as if this one had been asked for'
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l batch -d 'a batch also if it is of one message'
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l device -d 'of the GPUs, only this one'
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l direction -d 'encrypt (default) or decrypt'
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l from -d 'host (pageable memory, default), page-locked or device; where the data lies'
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l json -d 'print a record'
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l key-bits -d '128 (default), 192 or 256'
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l keys -d 'of so many different keys (default 1)'
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l messages -d 'so many messages in one batch (default 1, alone)'
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l mode
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l size
complete -c warpaes -n '__fish_seen_subcommand_from plan' -l threads -d 'host threads that may be used (default; all processors)'
complete -c warpaes -n __fish_use_subcommand -a calibrate -d 'measure this machine for such choices'
complete -c warpaes -n '__fish_seen_subcommand_from calibrate' -l cpu-only
complete -c warpaes -n '__fish_seen_subcommand_from calibrate' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from calibrate' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from calibrate' -l json
complete -c warpaes -n '__fish_seen_subcommand_from calibrate' -l quick
complete -c warpaes -n __fish_use_subcommand -a tune -d 'measure how a GPUs kernels are best launched'
complete -c warpaes -n '__fish_seen_subcommand_from tune' -l device
complete -c warpaes -n '__fish_seen_subcommand_from tune' -l dry-run
complete -c warpaes -n '__fish_seen_subcommand_from tune' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from tune' -l help-all -d 'print all of it and exit'
complete -c warpaes -n '__fish_seen_subcommand_from tune' -l json
complete -c warpaes -n '__fish_seen_subcommand_from tune' -l quick
complete -c warpaes -n '__fish_seen_subcommand_from tune' -l show
complete -c warpaes -n __fish_use_subcommand -a lab -d 'published experiments, run on this machine (the program warpaes-lab)'
complete -c warpaes -n '__fish_seen_subcommand_from lab' -l help -d 'print the help and exit'
complete -c warpaes -n '__fish_seen_subcommand_from lab' -l help-all -d 'print all of it and exit'
