/*
 * Loads an encrypted GGUF model into llama.cpp, which reads it through a FILE*. No plaintext is on a disk.
 *
 *     llama_model PLACE FILE [TOKEN…]
 *
 * PLACE is the location of the keyset, such as keyset.json. With tokens, the program prints the most likely next token.
 * It requires a llama.cpp with llama_load_mode. With an earlier llama.cpp, set `use_mmap = false` instead of
 * `load_mode`.
 */
#include <llama.h>
#include <stdio.h>
#include <stdlib.h>
#include <warpaes/files.h>

static void die(const char* why) {
    fprintf(stderr, "llama_model: %s\n", why);
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

static int next_token(struct llama_model* model, llama_token* tokens, int count) {
    struct llama_context* context = llama_init_from_model(model, llama_context_default_params());
    if (context == NULL) die("llama.cpp cannot create a context");
    if (llama_decode(context, llama_batch_get_one(tokens, count)) != 0) die("llama.cpp cannot decode the tokens");
    const float* const logits = llama_get_logits_ith(context, -1);
    const int all = llama_vocab_n_tokens(llama_model_get_vocab(model));
    int best = 0;
    for (int i = 1; i < all; ++i)
        if (logits[i] > logits[best]) best = i;
    llama_free(context);
    return best;
}

int main(int argc, char** argv) {
    if (argc < 3) die("usage: llama_model PLACE FILE [TOKEN...]");
    warpaes_engine* engine = NULL;
    check(warpaes_engine_create(NULL, &engine));
    FILE* const stream = open_encrypted(engine, argv[1], argv[2]);
    struct llama_model_params params = llama_model_default_params();
    params.load_mode = LLAMA_LOAD_MODE_NONE; /* the stream has no descriptor, so it cannot be mapped */
    struct llama_model* const model = llama_model_load_from_file_ptr(stream, params);
    /* If a segment was altered, llama.cpp's fread fails. The error message names the segment. */
    if (model == NULL) die(ferror(stream) ? warpaes_last_error() : "llama.cpp cannot load the model");
    fclose(stream); /* close the stream before the engine is destroyed */
    warpaes_engine_destroy(engine);

    char description[128];
    llama_model_desc(model, description, sizeof description);
    printf("%s, %llu parameters\n", description, (unsigned long long)llama_model_n_params(model));
    if (argc > 3) {
        llama_token tokens[256];
        const int count = argc - 3 < 256 ? argc - 3 : 256;
        for (int i = 0; i < count; ++i) tokens[i] = atoi(argv[3 + i]);
        printf("next: %d\n", next_token(model, tokens, count));
    }
    llama_model_free(model);
    return 0;
}
