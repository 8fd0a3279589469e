/*
 * Submits a batch that another process has written. This process loads the library and owns a shared arena. The other
 * process writes messages, keys and entries into the arena. It needs to know their layout (docs/batches.md), but does
 * not need the library. In this example, the other process is shared_batch.py, which inherits the arena's descriptor.
 * Any other program that can map the arena would also work.
 *
 * Usage: shared_batch shared_batch.py
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <warpaes/warpaes.h>

#define ARENA_BYTES (1u << 20)

/* The start of the arena, in a layout shared by both processes. */
struct header {
    uint64_t entries_at;
    uint64_t count;
};

static void fail(const char* what) {
    fprintf(stderr, "%s: %s\n", what, warpaes_last_error());
    exit(1);
}

/* Copies the entries first, because the other process could still change them. Clears all pointers. */
static warpaes_batch_entry* take_entries(const unsigned char* arena, uint64_t* count) {
    struct header header;
    memcpy(&header, arena, sizeof header);
    const uint64_t most = ARENA_BYTES / sizeof(warpaes_batch_entry);
    if (header.count > most || header.entries_at > ARENA_BYTES ||
        header.count * sizeof(warpaes_batch_entry) > ARENA_BYTES - header.entries_at) {
        fprintf(stderr, "the entries exceed the arena\n");
        exit(1);
    }
    warpaes_batch_entry* entries = malloc((header.count + 1) * sizeof *entries);
    if (entries == NULL) exit(1);
    memcpy(entries, arena + header.entries_at, header.count * sizeof *entries);
    for (uint64_t i = 0; i < header.count; ++i) {
        entries[i].key = entries[i].tweak_key = NULL;
        entries[i].statuses = NULL;
    }
    *count = header.count;
    return entries;
}

static void run_other(const char* script, int fd, const char* step) {
    char number[16];
    snprintf(number, sizeof number, "%d", fd);
    const pid_t child = fork();
    if (child == 0) {
        fcntl(fd, F_SETFD, 0); /* the child inherits the descriptor */
        execlp("python3", "python3", script, number, step, (char*)NULL);
        _exit(127);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "%s %s failed\n", script, step);
        exit(1);
    }
}

int main(int argc, char** argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s shared_batch.py\n", argv[0]);
        return 2;
    }
    warpaes_engine* engine = NULL;
    warpaes_arena* arena = NULL;
    if (warpaes_engine_create(NULL, &engine) != WARPAES_OK) fail("engine");
    if (warpaes_arena_create(engine, WARPAES_MEMORY_SHARED, 0, ARENA_BYTES, &arena) != WARPAES_OK) fail("arena");

    run_other(argv[1], warpaes_arena_fd(arena), "write");
    uint64_t count = 0;
    warpaes_batch_entry* entries = take_entries(warpaes_arena_data(arena), &count);

    warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
    options.flags = WARPAES_BATCH_OFFSETS;
    options.arena = arena;
    warpaes_batch* batch = NULL;
    if (warpaes_batch_submit(engine, &options, entries, count, &batch) != WARPAES_OK) fail("submit");
    if (warpaes_batch_wait(batch, WARPAES_UNKNOWN) != WARPAES_OK) fail("batch");
    warpaes_batch_destroy(batch);
    uint64_t messages = 0;
    for (uint64_t i = 0; i < count; ++i) messages += entries[i].count;
    free(entries);

    run_other(argv[1], warpaes_arena_fd(arena), "check");
    printf("encrypted %llu messages of another process\n", (unsigned long long)messages);
    warpaes_arena_destroy(arena);
    warpaes_engine_destroy(engine);
    return 0;
}
