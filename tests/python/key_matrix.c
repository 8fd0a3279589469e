/*
 * The C part of test_key_matrix.py: writes and reads files under a keyset at a place through FILE*.
 *
 *     key_matrix write PLACE PLAIN SEALED | read PLACE SEALED > PLAIN
 *     key_matrix write-named PLACE PLAIN ROOT FOLDER NAME | read-named PLACE ROOT FOLDER NAME > PLAIN
 *
 * The second line's commands write and read FOLDER/NAME in the tree ROOT, whose names are encrypted.
 * MATRIX_WORD is the answer to a passphrase prompt.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <warpaes/names.h>

static int answer(void* user, const char* question, char* passphrase, size_t capacity, size_t* length) {
    const char* word = getenv("MATRIX_WORD");
    (void)user;
    if (word == NULL || question[0] == '\0' || strlen(word) > capacity) return 1;
    *length = strlen(word);
    memcpy(passphrase, word, *length);
    return 0;
}

static int copy(FILE* from, FILE* to) {
    static char piece[30000];
    if (from == NULL || to == NULL) return 1;
    for (size_t n; (n = fread(piece, 1, sizeof piece, from)) > 0;) {
        if (fwrite(piece, 1, n, to) != n) return 1;
    }
    return ferror(from);
}

static int fail(void) {
    fprintf(stderr, "%s\n", warpaes_last_error());
    return 1;
}

/* Sets `path` to the stored path of FOLDER/NAME below ROOT, and `bound` to its associated data. Creates the folder. */
static int find(warpaes_engine* engine, const warpaes_keyset* keyset, char** names, char* path, size_t capacity,
                char* bound, size_t* bound_len) {
    warpaes_names* keys = NULL;
    size_t at = (size_t)snprintf(path, capacity, "%s/", names[0]), length = 0;
    if (warpaes_names_create(engine, keyset, &keys) != WARPAES_OK) return 1;
    mkdir(names[0], 0700);
    int failed = warpaes_names_encrypt(keys, 0, "", 0, names[1], strlen(names[1]), path + at, capacity - at, &length);
    path[at += length] = '\0';
    mkdir(path, 0700);
    path[at++] = '/';
    failed |= warpaes_names_encrypt(keys, 0, names[1], strlen(names[1]), names[2], strlen(names[2]), path + at,
                                    capacity - at - 1, &length);
    path[at + length] = '\0';
    warpaes_names_destroy(keys);
    /* The mark and the plain path, each with a NUL at its end, and no further data. */
    *bound_len = (size_t)snprintf(bound, capacity, "warpaes-names-1%c%s/%s%c", '\0', names[1], names[2], '\0');
    return failed;
}

int main(int argc, char** argv) {
    const int named = argc > 1 && strstr(argv[1], "-named") != NULL;
    const int writes = argc > 1 && strncmp(argv[1], "write", 5) == 0;
    if (argc != 4 + writes + 2 * named) return 2;
    char path[4096], bound[4096];
    size_t bound_len = 0;
    warpaes_engine* engine = NULL;
    warpaes_keyset* keyset = NULL;
    warpaes_place_options options = WARPAES_PLACE_OPTIONS_INIT;
    options.ask = answer;
    if (warpaes_keyset_load(argv[2], &options, &keyset) != WARPAES_OK) return fail();
    if (warpaes_engine_create(NULL, &engine) != WARPAES_OK) return fail();
    if (named && find(engine, keyset, argv + 3 + writes, path, sizeof path, bound, &bound_len) != 0) return fail();

    FILE* sealed = NULL;
    int failed = 0;
    if (writes) {
        warpaes_sink sink = WARPAES_SINK_INIT;
        sink.path = named ? path : argv[4];
        if (warpaes_create_stream(engine, &sink, keyset, bound, bound_len, &sealed) != WARPAES_OK) return fail();
        FILE* plain = fopen(argv[3], "rb");
        failed = copy(plain, sealed);
        if (plain != NULL) fclose(plain);
    } else {
        warpaes_source source = WARPAES_SOURCE_INIT;
        source.path = named ? path : argv[3];
        if (warpaes_open_stream(engine, &source, keyset, bound, bound_len, &sealed) != WARPAES_OK) return fail();
        failed = copy(sealed, stdout);
    }
    failed |= fclose(sealed) != 0 || fflush(stdout) != 0;
    warpaes_keyset_destroy(keyset);
    warpaes_engine_destroy(engine);
    return failed != 0 ? fail() : 0;
}
