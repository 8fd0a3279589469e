/* A program that was compiled when ABI 1 was new: these headers never change, and the library of today must run it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <warpaes/files.h>
#include <warpaes/planning.h>

static int failures = 0;
static void expect(int right, const char* what) {
    if (right) return;
    fprintf(stderr, "wrong: %s (%s)\n", what, warpaes_last_error());
    ++failures;
}

static const unsigned char key_bytes[32] = {1, 2, 3}, iv[16] = {9, 8, 7};

/* Everything behind a struct is poisoned: the library writes none of it. */
#define POISONED(type, name, init) \
    struct {                       \
        type value;                \
        unsigned char behind[64];  \
    } name = {.value = init};      \
    memset(name.behind, 0xa5, sizeof name.behind)
#define UNTOUCHED(name) expect(name.behind[0] == 0xa5 && name.behind[63] == 0xa5, #name ": written behind its end")

static void message(warpaes_engine* engine, const warpaes_key* key, unsigned char* text, size_t n) {
    POISONED(warpaes_message, m, WARPAES_MESSAGE_INIT);
    POISONED(warpaes_result, r, WARPAES_RESULT_INIT);
    unsigned char tag[16], sealed[100];
    m.value.mode = WARPAES_GCM;
    m.value.direction = WARPAES_ENCRYPT;
    m.value.key = key;
    m.value.iv = iv;
    m.value.iv_len = 12;
    m.value.aad = "header";
    m.value.aad_len = 6;
    m.value.input = text;
    m.value.output = sealed;
    m.value.input_len = m.value.output_capacity = n;
    m.value.tag = tag;
    m.value.tag_len = 16;
    expect(warpaes_crypt(engine, &m.value, &r.value) == WARPAES_OK, "sealing");
    expect(r.value.output_len == n && r.value.device == -1 && r.value.backend[0] != 0 && r.value.error[0] == 0,
           "result");
    m.value.direction = WARPAES_DECRYPT;
    m.value.input = m.value.output = sealed;
    tag[3] ^= 1;
    expect(warpaes_crypt(engine, &m.value, &r.value) == WARPAES_ERROR_AUTHENTICATION && r.value.error[0] != 0,
           "forged");
    UNTOUCHED(m);
    UNTOUCHED(r);
}

static void batch(warpaes_engine* engine, const warpaes_key* key, unsigned char* text, size_t n) {
    warpaes_batch_entry entries[2];
    warpaes_entry_result results[3];
    POISONED(warpaes_batch_options, o, WARPAES_BATCH_OPTIONS_INIT);
    POISONED(warpaes_batch_result, r, WARPAES_BATCH_RESULT_INIT);
    unsigned char output[200], one[200];
    memset(entries, 0, sizeof entries);
    memset(results, 0xa5, sizeof results);
    for (int i = 0; i < 2; ++i) {
        entries[i].mode = WARPAES_CTR;
        entries[i].direction = WARPAES_ENCRYPT;
        entries[i].count = 1;
        entries[i].length = n;
        entries[i].key = i == 0 ? key : NULL;
        entries[i].input.at.pointer = text;
        entries[i].output.at.pointer = output + (size_t)i * n;
        entries[i].iv.at.pointer = (void*)iv;
        entries[i].iv_len = 16;
    }
    o.value.results = results;
    warpaes_batch* handle = NULL;
    expect(warpaes_batch_submit(engine, &o.value, entries, 2, &handle) == WARPAES_OK, "submitting");
    expect(warpaes_batch_wait(handle, WARPAES_UNKNOWN) == WARPAES_ERROR_ARGUMENT, "an entry without a key");
    expect(results[0].status == WARPAES_OK && results[1].status == WARPAES_ERROR_ARGUMENT, "results");
    expect(((unsigned char*)&results[2])[0] == 0xa5, "a result behind the last");
    expect(warpaes_batch_query(handle, &r.value) == WARPAES_OK && r.value.messages == 2 && r.value.failed_entries == 1,
           "what became of the batch");
    warpaes_batch_destroy(handle);
    UNTOUCHED(o);
    UNTOUCHED(r);

    /* The same in pieces. */
    POISONED(warpaes_context_options, c, WARPAES_CONTEXT_OPTIONS_INIT);
    warpaes_context* context = NULL;
    size_t first = 0, second = 0, last = 0;
    c.value.mode = WARPAES_CTR;
    c.value.direction = WARPAES_ENCRYPT;
    c.value.key = key;
    c.value.iv = iv;
    c.value.iv_len = 16;
    expect(warpaes_context_create(engine, &context) == WARPAES_OK, "a context");
    expect(warpaes_context_init(context, &c.value) == WARPAES_OK, "starting");
    expect(warpaes_context_update(context, text, 7, one, sizeof one, &first) == WARPAES_OK && first == 7, "a piece");
    expect(warpaes_context_update(context, text + 7, n - 7, one + 7, sizeof one - 7, &second) == WARPAES_OK,
           "the rest");
    expect(warpaes_context_final(context, NULL, 0, &last) == WARPAES_OK && first + second + last == n, "the end");
    expect(memcmp(one, output, n) == 0, "pieces and batch differ");
    warpaes_context_destroy(context);
    UNTOUCHED(c);
}

static void file(warpaes_engine* engine, const char* folder) {
    char plain[512], sealed[512], opened[512], bytes[64];
    warpaes_keyset* keyset = NULL;
    POISONED(warpaes_file_job, j, WARPAES_FILE_JOB_INIT);
    POISONED(warpaes_file_result, r, WARPAES_FILE_RESULT_INIT);
    snprintf(plain, sizeof plain, "%s/plain", folder);
    snprintf(sealed, sizeof sealed, "%s/sealed", folder);
    snprintf(opened, sizeof opened, "%s/opened", folder);
    FILE* out = fopen(plain, "wb");
    if (out == NULL || fwrite("some text", 1, 9, out) != 9 || fclose(out) != 0) abort();
    expect(warpaes_keyset_create(&keyset) == WARPAES_OK, "a keyset");
    expect(warpaes_keyset_add(keyset, "AES256_GCM_HKDF_4KB", NULL) == WARPAES_OK, "a key");
    j.value.format = WARPAES_FORMAT_STREAMING_AEAD;
    j.value.keyset = keyset;
    j.value.direction = WARPAES_ENCRYPT;
    j.value.input_path = plain;
    j.value.output_path = sealed;
    expect(warpaes_file_run(engine, &j.value, &r.value) == WARPAES_OK && r.value.bytes_read == 9, "sealing a file");
    j.value.direction = WARPAES_DECRYPT;
    j.value.input_path = sealed;
    j.value.output_path = opened;
    expect(warpaes_file_run(engine, &j.value, &r.value) == WARPAES_OK && r.value.bytes_written == 9, "opening it");
    FILE* in = fopen(opened, "rb");
    expect(in != NULL && fread(bytes, 1, sizeof bytes, in) == 9 && memcmp(bytes, "some text", 9) == 0, "its text");
    if (in != NULL) fclose(in);
    warpaes_keyset_destroy(keyset);
    UNTOUCHED(j);
    UNTOUCHED(r);
}

static void plan(warpaes_engine* engine) {
    POISONED(warpaes_work, w, WARPAES_WORK_INIT);
    POISONED(warpaes_plan, p, WARPAES_PLAN_INIT);
    POISONED(warpaes_prediction, q, WARPAES_PREDICTION_INIT);
    POISONED(warpaes_backend_info, b, WARPAES_BACKEND_INFO_INIT);
    w.value.message_len = 1 << 20;
    expect(warpaes_engine_plan(engine, &w.value, &p.value) == WARPAES_OK && p.value.reason[0] != 0, "a plan");
    expect(warpaes_engine_predict(engine, &w.value, 0, &q.value) == WARPAES_OK, "a prediction");
    expect(warpaes_backend_query(0, &b.value) == WARPAES_OK && strcmp(b.value.name, "libcrypto") == 0, "a backend");
    UNTOUCHED(w);
    UNTOUCHED(p);
    UNTOUCHED(q);
    UNTOUCHED(b);
}

int main(int argc, char** argv) {
    warpaes_engine* engine = NULL;
    warpaes_key* key = NULL;
    void* memory = NULL;
    unsigned char text[100];
    char error[WARPAES_ERROR_BYTES];
    if (argc != 2) return 2;
    expect(warpaes_abi_version() == 1, "the ABI");
    POISONED(warpaes_engine_options, o, WARPAES_ENGINE_OPTIONS_INIT);
    o.value.error = error;
    o.value.backend = "none such";
    expect(warpaes_engine_create(&o.value, &engine) == WARPAES_ERROR_BACKEND && strstr(error, "none such") != NULL,
           "error");
    o.value.backend = "libcrypto";
    expect(warpaes_engine_create(&o.value, &engine) == WARPAES_OK, "an engine");
    UNTOUCHED(o);
    expect(warpaes_key_create(key_bytes, 32, &key) == WARPAES_OK, "a key");
    expect(warpaes_alloc(engine, WARPAES_MEMORY_PAGE_LOCKED, 0, 100, &memory) == WARPAES_OK, "memory");
    memset(text, 'x', sizeof text);
    expect(warpaes_copy(engine, memory, text, sizeof text) == WARPAES_OK, "a copy");
    message(engine, key, memory, sizeof text);
    batch(engine, key, text, sizeof text);
    file(engine, argv[1]);
    plan(engine);
    warpaes_free(engine, memory);
    warpaes_key_destroy(key);
    warpaes_engine_destroy(engine);
    if (failures == 0) printf("a client of the first version of ABI 1 runs on %s\n", warpaes_version());
    return failures != 0;
}
