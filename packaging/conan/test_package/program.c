/* Encrypts the example of FIPS 197, appendix B, and compares the result. */
#include <string.h>
#include <warpaes/warpaes.h>

int main(void) {
    const unsigned char key_bytes[] = {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6,
                                       0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c};
    const unsigned char expected[] = {0x39, 0x25, 0x84, 0x1d, 0x02, 0xdc, 0x09, 0xfb,
                                      0xdc, 0x11, 0x85, 0x97, 0x19, 0x6a, 0x0b, 0x32};
    unsigned char block[] = {0x32, 0x43, 0xf6, 0xa8, 0x88, 0x5a, 0x30, 0x8d,
                             0x31, 0x31, 0x98, 0xa2, 0xe0, 0x37, 0x07, 0x34};
    warpaes_engine* engine;
    warpaes_key* key;
    if (warpaes_engine_create(NULL, &engine) != WARPAES_OK || warpaes_key_create(key_bytes, 16, &key) != WARPAES_OK)
        return 1;
    warpaes_message message = WARPAES_MESSAGE_INIT;
    message.mode = WARPAES_ECB;
    message.direction = WARPAES_ENCRYPT;
    message.key = key;
    message.input = block, message.input_len = sizeof block;
    message.output = block, message.output_capacity = sizeof block;
    const warpaes_status status = warpaes_crypt(engine, &message, NULL);
    warpaes_key_destroy(key);
    warpaes_engine_destroy(engine);
    return status != WARPAES_OK || memcmp(block, expected, sizeof block) != 0;
}
