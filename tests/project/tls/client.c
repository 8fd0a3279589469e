/* Loads libraries with dlopen, as plug-in hosts and interpreters do, and calls warpaes in each of its copies.
   client FILLERS LIBRARY…: first loads FILLERS/0, FILLERS/1, … until static TLS has room for just one more, unless
   FILLERS is "". A LIBRARY that begins with '+' is loaded into a separate namespace. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <warpaes/warpaes.h>

static void* load(const char* path) {
    void* const library =
        path[0] == '+' ? dlmopen(LM_ID_NEWLM, path + 1, RTLD_NOW) : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return library;
}

/* Loads at most `most` fillers, and returns the number that fitted. */
static int load_fillers(const char* folder, int most) {
    char path[4096];
    for (int i = 0; i < most; ++i) {
        snprintf(path, sizeof path, "%s/%d", folder, i);
        if (dlopen(path, RTLD_NOW | RTLD_LOCAL) != NULL) continue;
        if (strstr(dlerror(), "static TLS") != NULL) return i;
        fprintf(stderr, "%s: cannot be loaded\n", path);
        exit(2);
    }
    return most;
}

/* Uses up static TLS except for the size of one filler. A child process finds the number that fits. */
static void use_static_tls(const char* folder) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) _exit(load_fillers(folder, 250));
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) < 2 ||
        WEXITSTATUS(status) == 250) {
        fprintf(stderr, "fillers do not show where static TLS ends: status %d\n", status);
        exit(2);
    }
    load_fillers(folder, WEXITSTATUS(status) - 1);
}

/* The functions of one copy, with their types from the header. */
#define FUNCTION(name) __typeof__(&name) const its_##name = (__typeof__(&name))dlsym(library, #name)
#define REQUIRE(condition)                              \
    do {                                                \
        if (!(condition)) {                             \
            fprintf(stderr, "fails: %s\n", #condition); \
            exit(3);                                    \
        }                                               \
    } while (0)

static void* use(void* library) {
    FUNCTION(warpaes_engine_create);
    FUNCTION(warpaes_engine_destroy);
    FUNCTION(warpaes_key_create);
    FUNCTION(warpaes_key_destroy);
    FUNCTION(warpaes_crypt);
    FUNCTION(warpaes_last_error);
    static const uint8_t key_bytes[16] = {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6,
                                          0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c};
    static const uint8_t text[16] = {0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96,
                                     0xe9, 0x3d, 0x7e, 0x11, 0x73, 0x93, 0x17, 0x2a};
    static const uint8_t wanted[16] = {0x3a, 0xd7, 0x7b, 0xb4, 0x0d, 0x7a, 0x36, 0x60,
                                       0xa8, 0x9e, 0xca, 0xf3, 0x24, 0x66, 0xef, 0x97};
    uint8_t output[16] = {0};
    warpaes_engine* engine = NULL;
    warpaes_key* key = NULL;
    REQUIRE(strcmp(its_warpaes_last_error(), "") == 0);
    REQUIRE(its_warpaes_engine_create(NULL, &engine) == WARPAES_OK);
    REQUIRE(its_warpaes_key_create(key_bytes, 17, &key) == WARPAES_ERROR_KEY_LENGTH);
    REQUIRE(strstr(its_warpaes_last_error(), "got 17") != NULL);
    REQUIRE(its_warpaes_key_create(key_bytes, 16, &key) == WARPAES_OK);
    warpaes_message message = WARPAES_MESSAGE_INIT;
    message.mode = WARPAES_ECB;
    message.direction = WARPAES_ENCRYPT;
    message.key = key;
    message.input = text;
    message.input_len = message.output_capacity = sizeof text;
    message.output = output;
    REQUIRE(its_warpaes_crypt(engine, &message, NULL) == WARPAES_OK);
    REQUIRE(memcmp(output, wanted, sizeof wanted) == 0);
    its_warpaes_key_destroy(key);
    its_warpaes_engine_destroy(engine);
    return NULL;
}

int main(int count, char** arguments) {
    if (count < 3) return 4;
    if (arguments[1][0] != '\0') use_static_tls(arguments[1]);
    for (int i = 2; i < count; ++i) {
        void* const library = load(arguments[i]);
        pthread_t thread;
        use(library);
        REQUIRE(pthread_create(&thread, NULL, use, library) == 0);
        REQUIRE(pthread_join(thread, NULL) == 0);
    }
    return 0;
}
