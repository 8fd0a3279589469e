// Encrypts or decrypts a file with libsodium's secretstream (XChaCha20-Poly1305) in pieces of 1 MiB, as libsodium's
// manual shows. tools/compare.py measures it.
//
//     sodium_file encrypt|decrypt KEY_FILE INPUT OUTPUT
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 20, EXTRA = crypto_secretstream_xchacha20poly1305_ABYTES };
static unsigned char plain[PIECE], sealed[PIECE + EXTRA];

/* Reads up to `size` bytes; returns fewer only at the end of the file. */
static size_t take(int file, unsigned char* to, size_t size) {
    size_t got = 0;
    for (ssize_t n; got < size && (n = read(file, to + got, size - got)) > 0;) got += (size_t)n;
    return got;
}

static int put(int file, const unsigned char* from, size_t size) {
    for (ssize_t n; size > 0; from += n, size -= (size_t)n) {
        if ((n = write(file, from, size)) <= 0) return -1;
    }
    return 0;
}

int main(int argc, char** argv) {
    unsigned char key[crypto_secretstream_xchacha20poly1305_KEYBYTES];
    unsigned char header[crypto_secretstream_xchacha20poly1305_HEADERBYTES];
    crypto_secretstream_xchacha20poly1305_state state;
    if (argc != 5 || sodium_init() < 0) return 2;
    const int key_file = open(argv[2], O_RDONLY), in = open(argv[3], O_RDONLY);
    const int out = open(argv[4], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (in < 0 || out < 0 || take(key_file, key, sizeof key) != sizeof key) return 2;
    const int encrypts = strcmp(argv[1], "encrypt") == 0;
    unsigned char tag = 0;
    if (encrypts) {
        crypto_secretstream_xchacha20poly1305_init_push(&state, header, key);
        if (put(out, header, sizeof header) != 0) return 1;
    } else if (take(in, header, sizeof header) != sizeof header ||
               crypto_secretstream_xchacha20poly1305_init_pull(&state, header, key) != 0) {
        return 1;
    }
    do {
        unsigned long long length = 0;
        if (encrypts) {
            const size_t got = take(in, plain, PIECE);
            tag = got < PIECE ? crypto_secretstream_xchacha20poly1305_TAG_FINAL : 0;
            crypto_secretstream_xchacha20poly1305_push(&state, sealed, &length, plain, got, NULL, 0, tag);
            if (put(out, sealed, length) != 0) return 1;
        } else {
            const size_t got = take(in, sealed, sizeof sealed);
            if (crypto_secretstream_xchacha20poly1305_pull(&state, plain, &length, &tag, sealed, got, NULL, 0) != 0 ||
                put(out, plain, length) != 0) {
                return 1;
            }
        }
    } while (tag != crypto_secretstream_xchacha20poly1305_TAG_FINAL);
    return close(out) == 0 ? 0 : 1;
}
