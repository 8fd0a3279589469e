/*
 * Keeps an encrypted file in an object store and reads parts of it, in C.
 *
 *     object_store INPUT OFFSET LENGTH
 *
 * The store is one object in memory. Over a network, put and get would be PUT and GET with a range. The file has the
 * format of `warpaes encrypt` and Tink's streaming AEAD. A read fetches, decrypts and authenticates only the segments
 * that it covers. The program prints LENGTH bytes starting at OFFSET, and on stderr the number of bytes fetched.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <warpaes/files.h>

/* One object: writes append to it, and reads return ranges of it. */
struct object {
    unsigned char* bytes;
    uint64_t size, capacity;
    uint64_t fetched, requests;
    pthread_mutex_t mutex; /* several threads read at once */
};

static int put(void* user, const void* bytes, uint64_t length) {
    struct object* object = user;
    if (object->size + length > object->capacity) {
        const uint64_t capacity = 2 * (object->size + length);
        unsigned char* larger = realloc(object->bytes, capacity);
        if (larger == NULL) return 1; /* a nonzero result makes the writer fail */
        object->bytes = larger;
        object->capacity = capacity;
    }
    memcpy(object->bytes + object->size, bytes, length);
    object->size += length;
    return 0;
}

static int get(void* user, uint64_t offset, void* buffer, uint64_t length) {
    struct object* object = user;
    memcpy(buffer, object->bytes + offset, length); /* the range never exceeds source.size */
    pthread_mutex_lock(&object->mutex);
    object->fetched += length;
    ++object->requests;
    pthread_mutex_unlock(&object->mutex);
    return 0;
}

static void die(const char* what) {
    fprintf(stderr, "object_store: %s\n", what);
    exit(1);
}

static void check(warpaes_status status) {
    if (status != WARPAES_OK) die(warpaes_last_error());
}

static void upload(warpaes_engine* engine, const warpaes_keyset* keyset, const char* name, const char* path,
                   struct object* object) {
    FILE* input = fopen(path, "rb");
    if (input == NULL) die("cannot open the input");
    const warpaes_sink sink = {.struct_size = sizeof sink, .write = put, .user = object};
    warpaes_writer* writer = NULL;
    /* The name is the associated data, so the object does not open under a different name. */
    check(warpaes_writer_open(engine, &sink, keyset, name, strlen(name), &writer));
    static unsigned char piece[1 << 16];
    for (size_t got; (got = fread(piece, 1, sizeof piece, input)) > 0;) {
        check(warpaes_writer_write(writer, piece, got));
    }
    if (ferror(input)) die("cannot read the input");
    check(warpaes_writer_finish(writer));
    warpaes_writer_close(writer);
    fclose(input);
}

int main(int argc, char** argv) {
    if (argc != 4) die("usage: object_store INPUT OFFSET LENGTH");
    const uint64_t offset = strtoull(argv[2], NULL, 10);
    const uint64_t length = strtoull(argv[3], NULL, 10);
    unsigned char* output = malloc(length != 0 ? length : 1);
    if (output == NULL) die("out of memory");

    warpaes_engine* engine = NULL;
    warpaes_keyset* keyset = NULL;
    check(warpaes_engine_create(NULL, &engine));
    check(warpaes_keyset_create(&keyset)); /* a real program parses a stored keyset */
    check(warpaes_keyset_add(keyset, "AES256_GCM_HKDF_4KB", NULL));

    struct object object = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    const char* name = "bucket/object";
    upload(engine, keyset, name, argv[1], &object);

    const warpaes_source source = {.struct_size = sizeof source, .read = get, .size = object.size, .user = &object};
    warpaes_reader* reader = NULL;
    check(warpaes_reader_open(engine, &source, keyset, name, strlen(name), &reader));
    uint64_t got = 0;
    check(warpaes_reader_read(reader, offset, output, length, &got));
    fprintf(stderr, "%llu of %llu bytes fetched in %llu requests\n", (unsigned long long)object.fetched,
            (unsigned long long)object.size, (unsigned long long)object.requests);
    if (fwrite(output, 1, got, stdout) != got || fflush(stdout) != 0) die("cannot write");

    warpaes_reader_close(reader);
    warpaes_keyset_destroy(keyset);
    warpaes_engine_destroy(engine);
    free(object.bytes);
    free(output);
    return 0;
}
