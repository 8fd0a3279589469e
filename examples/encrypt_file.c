/*
 * Encrypts a file piece by piece with AES-256-CTR, in C.
 *
 *     encrypt_file KEY_FILE INPUT OUTPUT
 *
 * KEY_FILE contains 32 bytes. OUTPUT consists of an initial counter block of 16 bytes and the ciphertext. This example
 * shows how to process a message that arrives in pieces. For complete files, warpaes_file_run is faster, and it can
 * also authenticate the data.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <warpaes/warpaes.h>

enum { piece = 1 << 20 };

static void die(const char* what) {
    fprintf(stderr, "encrypt_file: %s\n", what);
    exit(1);
}

static void check(warpaes_status status) {
    if (status != WARPAES_OK) die(warpaes_last_error());
}

static FILE* open_file(const char* path, const char* how) {
    FILE* file = fopen(path, how);
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    return file;
}

int main(int argc, char** argv) {
    if (argc != 4) die("usage: encrypt_file KEY_FILE INPUT OUTPUT");

    unsigned char bytes[33];
    FILE* key_file = open_file(argv[1], "rb");
    const size_t key_len = fread(bytes, 1, sizeof bytes, key_file);
    fclose(key_file);

    warpaes_engine* engine = NULL;
    warpaes_key* key = NULL;
    warpaes_context* context = NULL;
    check(warpaes_engine_create(NULL, &engine));
    check(warpaes_key_create(bytes, key_len, &key)); /* fails if the length is wrong */
    explicit_bzero(bytes, sizeof bytes);

    /* The counter block consists of 8 random bytes and an 8-byte counter that starts at 0 and cannot overflow. */
    unsigned char counter[16] = {0};
    if (getrandom(counter, 8, 0) != 8) die("no random bytes");
    check(warpaes_context_create(engine, &context));
    warpaes_context_options options = WARPAES_CONTEXT_OPTIONS_INIT;
    options.mode = WARPAES_CTR;
    options.direction = WARPAES_ENCRYPT;
    options.key = key;
    options.iv = counter;
    options.iv_len = sizeof counter;
    check(warpaes_context_init(context, &options));

    FILE* input = open_file(argv[2], "rb");
    FILE* output = open_file(argv[3], "wb");
    if (fwrite(counter, 1, sizeof counter, output) != sizeof counter) die("cannot write");
    unsigned char* buffer = malloc(piece);
    if (buffer == NULL) die("out of memory");
    for (size_t got; (got = fread(buffer, 1, piece, input)) > 0;) {
        size_t written = 0;
        check(warpaes_context_update(context, buffer, got, buffer, piece, &written)); /* in place */
        if (fwrite(buffer, 1, written, output) != written) die("cannot write");
    }
    if (ferror(input)) die("cannot read");
    size_t written = 0;
    check(warpaes_context_final(context, NULL, 0, &written)); /* in CTR, this call has no output */
    if (fclose(output) != 0) die("cannot write");

    fclose(input);
    free(buffer);
    warpaes_context_destroy(context);
    warpaes_key_destroy(key);
    warpaes_engine_destroy(engine);
    return 0;
}
