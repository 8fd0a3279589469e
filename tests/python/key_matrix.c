/*
 * The C part of test_key_matrix.py: writes and reads files under a keyset at a place, by FILE*.
 *
 *     key_matrix write PLACE PLAIN SEALED | read PLACE SEALED > PLAIN
 *
 * MATRIX_WORD is the answer to a question for a passphrase.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <warpaes/files.h>

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

int main(int argc, char** argv) {
    const int writes = argc == 5 && strcmp(argv[1], "write") == 0;
    if (!writes && (argc != 4 || strcmp(argv[1], "read") != 0)) return 2;
    warpaes_engine* engine = NULL;
    warpaes_keyset* keyset = NULL;
    warpaes_place_options options = WARPAES_PLACE_OPTIONS_INIT;
    options.ask = answer;
    if (warpaes_keyset_load(argv[2], &options, &keyset) != WARPAES_OK) return fail();
    if (warpaes_engine_create(NULL, &engine) != WARPAES_OK) return fail();

    FILE* sealed = NULL;
    int failed = 0;
    if (writes) {
        warpaes_sink sink = WARPAES_SINK_INIT;
        sink.path = argv[4];
        if (warpaes_create_stream(engine, &sink, keyset, NULL, 0, &sealed) != WARPAES_OK) return fail();
        FILE* plain = fopen(argv[3], "rb");
        failed = copy(plain, sealed);
        if (plain != NULL) fclose(plain);
    } else {
        warpaes_source source = WARPAES_SOURCE_INIT;
        source.path = argv[3];
        if (warpaes_open_stream(engine, &source, keyset, NULL, 0, &sealed) != WARPAES_OK) return fail();
        failed = copy(sealed, stdout);
    }
    failed |= fclose(sealed) != 0 || fflush(stdout) != 0;
    warpaes_keyset_destroy(keyset);
    warpaes_engine_destroy(engine);
    return failed != 0 ? fail() : 0;
}
