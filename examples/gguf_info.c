/*
 * Reads an encrypted GGUF file through a FILE*, as loaders in C do.
 *
 *     gguf_info PLACE FILE
 *
 * PLACE is the location of the keyset, such as keyset.json. fread decrypts only the segments that it reads, and returns
 * only authenticated bytes. Functions with a FILE* parameter, such as llama.cpp's llama_model_load_from_file_ptr,
 * accept the stream if they do not map the file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <warpaes/files.h>

static void die(const char* why) {
    fprintf(stderr, "gguf_info: %s\n", why);
    exit(1);
}

static void check(warpaes_status status) {
    if (status != WARPAES_OK) die(warpaes_last_error());
}

static FILE* open_encrypted(warpaes_engine* engine, const char* place, const char* path) {
    warpaes_keyset* keyset = NULL;
    check(warpaes_keyset_load(place, NULL, &keyset)); /* NULL: no passphrase prompt */
    const warpaes_source source = {.struct_size = sizeof source, .path = path};
    FILE* stream = NULL;
    check(warpaes_open_stream(engine, &source, keyset, NULL, 0, &stream));
    warpaes_keyset_destroy(keyset);
    return stream;
}

static uint64_t number(FILE* stream, size_t bytes) {
    unsigned char little_endian[8] = {0};
    uint64_t n = 0;
    /* If a segment was altered, fread fails and returns none of its text. */
    if (fread(little_endian, bytes, 1, stream) != 1) die(ferror(stream) ? warpaes_last_error() : "the file ends early");
    for (size_t i = 8; i-- > 0;) n = n << 8 | little_endian[i];
    return n;
}

int main(int argc, char** argv) {
    if (argc != 3) die("usage: gguf_info PLACE FILE");
    warpaes_engine* engine = NULL;
    check(warpaes_engine_create(NULL, &engine));
    FILE* const stream = open_encrypted(engine, argv[1], argv[2]);
    if (number(stream, 4) != 0x46554747) die("not a GGUF file");
    const unsigned version = (unsigned)number(stream, 4);
    const unsigned long long tensors = number(stream, 8), fields = number(stream, 8);
    if (fseek(stream, 0, SEEK_END) != 0) die("cannot seek");
    printf("GGUF %u: %llu tensors, %llu fields, %ld bytes\n", version, tensors, fields, ftell(stream));
    fclose(stream); /* close the stream before the engine is destroyed */
    warpaes_engine_destroy(engine);
    return 0;
}
