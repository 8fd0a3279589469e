// Encrypts or decrypts a file with libsodium's secretstream (XChaCha20-Poly1305) in pieces of 1 MiB: what its manual
// shows, as tools/compare.py measures it.
//
//     sodium_file encrypt|decrypt KEY_FILE INPUT OUTPUT
#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum { PIECE = 1 << 20, EXTRA = crypto_secretstream_xchacha20poly1305_ABYTES };
static unsigned char plain[PIECE], sealed[PIECE + EXTRA];

int main(int argc, char** argv) {
    unsigned char key[crypto_secretstream_xchacha20poly1305_KEYBYTES];
    unsigned char header[crypto_secretstream_xchacha20poly1305_HEADERBYTES];
    crypto_secretstream_xchacha20poly1305_state state;
    if (argc != 5 || sodium_init() < 0) return 2;
    FILE* const key_file = fopen(argv[2], "rb");
    FILE* const in = fopen(argv[3], "rb");
    FILE* const out = fopen(argv[4], "wb");
    if (!key_file || !in || !out || fread(key, 1, sizeof key, key_file) != sizeof key) return 2;
    setvbuf(in, NULL, _IONBF, 0);
    setvbuf(out, NULL, _IONBF, 0);
    const int encrypts = strcmp(argv[1], "encrypt") == 0;
    unsigned char tag = 0;
    if (encrypts) {
        crypto_secretstream_xchacha20poly1305_init_push(&state, header, key);
        fwrite(header, 1, sizeof header, out);
    } else if (fread(header, 1, sizeof header, in) != sizeof header ||
               crypto_secretstream_xchacha20poly1305_init_pull(&state, header, key) != 0) {
        return 1;
    }
    size_t got = 0;
    do {
        unsigned long long length = 0;
        if (encrypts) {
            got = fread(plain, 1, PIECE, in);
            tag = got < PIECE ? crypto_secretstream_xchacha20poly1305_TAG_FINAL : 0;
            crypto_secretstream_xchacha20poly1305_push(&state, sealed, &length, plain, got, NULL, 0, tag);
            fwrite(sealed, 1, length, out);
        } else {
            got = fread(sealed, 1, sizeof sealed, in);
            if (crypto_secretstream_xchacha20poly1305_pull(&state, plain, &length, &tag, sealed, got, NULL, 0) != 0) {
                return 1;
            }
            fwrite(plain, 1, length, out);
        }
    } while (tag != crypto_secretstream_xchacha20poly1305_TAG_FINAL);
    return fclose(out) == 0 && !ferror(in) ? 0 : 1;
}
