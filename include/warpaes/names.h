/*
 * warpaes: encrypted names of files and folders (docs/formats.md, "Encrypted names"). The rules in warpaes.h also apply
 * here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WARPAES_NAMES_H
#define WARPAES_NAMES_H

#include "warpaes/files.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The maximum length in bytes of a plain name, and of its stored form. */
#define WARPAES_NAME_BYTES 1024
#define WARPAES_STORED_NAME_BYTES 1686

/** Keys for encrypting names. Thread-safe. */
typedef struct warpaes_names warpaes_names;

/** Derives keys for names from the enabled keys of a keyset, which may be freed after the call; the engine must outlive
 * the result. WARPAES_ERROR_KEYSET if the keyset has no primary key for files. */
WARPAES_API warpaes_status warpaes_names_create(warpaes_engine* engine, const warpaes_keyset* keyset,
                                                warpaes_names** names);
/** Wipes and frees the keys; NULL is allowed. */
WARPAES_API void warpaes_names_destroy(warpaes_names* names);
/** Returns the number of keys, or 0 for NULL. Key 0 is the primary key. */
WARPAES_API size_t warpaes_names_count(const warpaes_names* names);

/**
 * Encrypts the name of a file or folder. `folder` is the plain path, below the root of the tree, of the folder that
 * contains it: names joined by '/', and "" for the root itself. `index` selects the key: 0 is the primary key. The
 * result is a path that consists of one component, or for a long name of several components of at most 143 bytes. It is
 * not NUL-terminated.
 * `*length` is set to its length. Equal arguments produce equal results.
 *
 * WARPAES_ERROR_ARGUMENT for a name that is empty, "." or "..", that contains a '/' or a NUL, or that is longer than
 * WARPAES_NAME_BYTES; for a folder that contains such a name; and for an index beyond the last key.
 * WARPAES_ERROR_BUFFER_TOO_SMALL if `capacity` is less than `*length`.
 */
WARPAES_API warpaes_status warpaes_names_encrypt(const warpaes_names* names, size_t index, const char* folder,
                                                 size_t folder_len, const char* name, size_t name_len, char* stored,
                                                 size_t capacity, size_t* length);
/** Decrypts the stored name of a file or folder in the plain path `folder`. The call tries all keys; unless `index` is
 * NULL, `*index` receives the index of the key that opens the name. The result is a name that warpaes_names_encrypt
 * accepts; it is not NUL-terminated.
 *
 * WARPAES_ERROR_FORMAT: the name does not have the form of an encrypted name. WARPAES_ERROR_AUTHENTICATION: no key
 * opens the name in this folder; then `*length` is 0 and nothing is written. WARPAES_ERROR_ARGUMENT and
 * WARPAES_ERROR_BUFFER_TOO_SMALL as for warpaes_names_encrypt.
 */
WARPAES_API warpaes_status warpaes_names_decrypt(const warpaes_names* names, const char* folder, size_t folder_len,
                                                 const char* stored, size_t stored_len, char* name, size_t capacity,
                                                 size_t* length, size_t* index);

#ifdef __cplusplus
}
#endif

#endif
