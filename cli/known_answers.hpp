// Example vectors, copied from their sources: SP 800-38A, appendix F; FIPS 197, appendix C; SP 800-38C, appendix C;
// IEEE 1619, appendix B, and NIST's CAVP (XTS); the paper by GCM's authors; NIST's examples for SP 800-38B (CMAC).
#pragma once

#include <string>
#include <vector>

namespace vectors {

struct Example {
    std::string section;  ///< section of SP 800-38A with the encryption; the next section contains the decryption
    std::string mode;
    std::string key;
    std::string iv;
    std::string plaintext;
    std::string ciphertext;
};

namespace sp800_38a {

inline const std::string key_128 = "2b7e151628aed2a6abf7158809cf4f3c";
inline const std::string key_192 = "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b";
inline const std::string key_256 = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4";
inline const std::string iv = "000102030405060708090a0b0c0d0e0f";
inline const std::string counter = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";
inline const std::string text =
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";
inline const std::string text_16_bits = text.substr(0, 4);
inline const std::string text_18_bytes = text.substr(0, 36);

inline const std::vector<Example> examples{
    {"F.1.1", "ECB", key_128, "", text,
     "3ad77bb40d7a3660a89ecaf32466ef97f5d3d58503b9699de785895a96fdbaaf"
     "43b1cd7f598ece23881b00e3ed0306887b0c785e27e8ad3f8223207104725dd4"},
    {"F.1.3", "ECB", key_192, "", text,
     "bd334f1d6e45f25ff712a214571fa5cc974104846d0ad3ad7734ecb3ecee4eef"
     "ef7afd2270e2e60adce0ba2face6444e9a4b41ba738d6c72fb16691603c18e0e"},
    {"F.1.5", "ECB", key_256, "", text,
     "f3eed1bdb5d2a03c064b5a7e3db181f8591ccb10d410ed26dc5ba74a31362870"
     "b6ed21b99ca6f4f9f153e7b1beafed1d23304b7a39f9f3ff067d8d8f9e24ecc7"},
    {"F.2.1", "CBC", key_128, iv, text,
     "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2"
     "73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7"},
    {"F.2.3", "CBC", key_192, iv, text,
     "4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a"
     "571b242012fb7ae07fa9baac3df102e008b0e27988598881d920a9e64f5615cd"},
    {"F.2.5", "CBC", key_256, iv, text,
     "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d"
     "39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b"},
    {"F.3.1", "CFB1", key_128, iv, text_16_bits, "68b3"},
    {"F.3.3", "CFB1", key_192, iv, text_16_bits, "9359"},
    {"F.3.5", "CFB1", key_256, iv, text_16_bits, "9029"},
    {"F.3.7", "CFB8", key_128, iv, text_18_bytes, "3b79424c9c0dd436bace9e0ed4586a4f32b9"},
    {"F.3.9", "CFB8", key_192, iv, text_18_bytes, "cda2521ef0a905ca44cd057cbf0d47a0678a"},
    {"F.3.11", "CFB8", key_256, iv, text_18_bytes, "dc1f1a8520a64db55fcc8ac554844e889700"},
    {"F.3.13", "CFB128", key_128, iv, text,
     "3b3fd92eb72dad20333449f8e83cfb4ac8a64537a0b3a93fcde3cdad9f1ce58b"
     "26751f67a3cbb140b1808cf187a4f4dfc04b05357c5d1c0eeac4c66f9ff7f2e6"},
    {"F.3.15", "CFB128", key_192, iv, text,
     "cdc80d6fddf18cab34c25909c99a417467ce7f7f81173621961a2b70171d3d7a"
     "2e1e8a1dd59b88b1c8e60fed1efac4c9c05f9f9ca9834fa042ae8fba584b09ff"},
    {"F.3.17", "CFB128", key_256, iv, text,
     "dc7e84bfda79164b7ecd8486985d386039ffed143b28b1c832113c6331e5407b"
     "df10132415e54b92a13ed0a8267ae2f975a385741ab9cef82031623d55b1e471"},
    {"F.4.1", "OFB", key_128, iv, text,
     "3b3fd92eb72dad20333449f8e83cfb4a7789508d16918f03f53c52dac54ed825"
     "9740051e9c5fecf64344f7a82260edcc304c6528f659c77866a510d9c1d6ae5e"},
    {"F.4.3", "OFB", key_192, iv, text,
     "cdc80d6fddf18cab34c25909c99a4174fcc28b8d4c63837c09e81700c1100401"
     "8d9a9aeac0f6596f559c6d4daf59a5f26d9f200857ca6c3e9cac524bd9acc92a"},
    {"F.4.5", "OFB", key_256, iv, text,
     "dc7e84bfda79164b7ecd8486985d38604febdc6740d20b3ac88f6ad82a4fb08d"
     "71ab47a086e86eedf39d1c5bba97c4080126141d67f37be8538f5a8be740e484"},
    {"F.5.1", "CTR", key_128, counter, text,
     "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"
     "5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee"},
    {"F.5.3", "CTR", key_192, counter, text,
     "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e94"
     "1e36b26bd1ebc670d1bd1d665620abf74f78a7f6d29809585a97daec58c6b050"},
    {"F.5.5", "CTR", key_256, counter, text,
     "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"
     "2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6"},
};

}  // namespace sp800_38a

/// The examples of FIPS 197, C.1 to C.3, each of one block.
inline const std::vector<Example> fips_197_appendix_c{
    {"C.1", "ECB", "000102030405060708090a0b0c0d0e0f", "", "00112233445566778899aabbccddeeff",
     "69c4e0d86a7b0430d8cdb78070b4c55a"},
    {"C.2", "ECB", "000102030405060708090a0b0c0d0e0f1011121314151617", "", "00112233445566778899aabbccddeeff",
     "dda97ca4864cdfe06eaf70a0ec0d7191"},
    {"C.3", "ECB", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", "",
     "00112233445566778899aabbccddeeff", "8ea2b7ca516745bfeafc49904b496089"},
};

/// A vector of GCM, CCM or CMAC, which has no ciphertext. GCM's vectors have the names of McGrew and Viega, "The
/// Galois/Counter Mode of Operation", appendix B.
struct TagExample {
    std::string name;
    std::string mode;
    std::string key;
    std::string iv;
    std::string aad;
    std::string plaintext;
    std::string ciphertext;
    std::string tag;
};

namespace gcm {

inline const std::string key_128 = "feffe9928665731c6d6a8f9467308308";
inline const std::string aad = "feedfacedeadbeeffeedfacedeadbeefabaddad2";
inline const std::string text =
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
    "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39";

inline const std::vector<TagExample> examples{
    {"GCM test case 1", "GCM", std::string(32, '0'), std::string(24, '0'), "", "", "",
     "58e2fccefa7e3061367f1d57a4e7455a"},
    {"GCM test case 2", "GCM", std::string(32, '0'), std::string(24, '0'), "", std::string(32, '0'),
     "0388dace60b6a392f328c2b971b2fe78", "ab6e47d42cec13bdf53a67b21257bddf"},
    {"GCM test case 4", "GCM", key_128, "cafebabefacedbaddecaf888", aad, text,
     "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
     "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
     "5bc94fbc3221a5db94fae95ae7121a47"},
    {"GCM test case 5", "GCM", key_128, "cafebabefacedbad", aad, text,
     "61353b4c2806934a777ff51fa22a4755699b2a714fcdc6f83766e5f97b6c7423"
     "73806900e49f24b22b097544d4896b424989b5e1ebac0f07c23f4598",
     "3612d2e79e3b0785561be14aaca2fccb"},
    {"GCM test case 16", "GCM", key_128 + key_128, "cafebabefacedbaddecaf888", aad, text,
     "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
     "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
     "76fc6ece0f4e1768cddf8853bb2d551b"},
};

}  // namespace gcm

inline const std::string ccm_key = "404142434445464748494a4b4c4d4e4f";
inline const std::vector<TagExample> ccm_examples{
    {"SP 800-38C example 1", "CCM", ccm_key, "10111213141516", "0001020304050607", "20212223", "7162015b", "4dac255d"},
    {"SP 800-38C example 2", "CCM", ccm_key, "1011121314151617", "000102030405060708090a0b0c0d0e0f",
     "202122232425262728292a2b2c2d2e2f", "d2a1f0e051ea5f62081a7792073d593d", "1fc64fbfaccd"},
    {"SP 800-38C example 3", "CCM", ccm_key, "101112131415161718191a1b", "000102030405060708090a0b0c0d0e0f10111213",
     "202122232425262728292a2b2c2d2e2f3031323334353637", "e3b201a9f5b71a7a9b1ceaeccd97e70b6176aad9a4428aa5",
     "484392fbc1b09951"},
};

inline const std::vector<TagExample> cmac_examples{
    {"CMAC AES-128 example 1", "CMAC", sp800_38a::key_128, "", "", "", "", "bb1d6929e95937287fa37d129b756746"},
    {"CMAC AES-128 example 2", "CMAC", sp800_38a::key_128, "", "", sp800_38a::text.substr(0, 32), "",
     "070a16b46b4d4144f79bdd9dd04a287c"},
    {"CMAC AES-128 example 3", "CMAC", sp800_38a::key_128, "", "", sp800_38a::text.substr(0, 80), "",
     "dfa66747de9ae63030ca32611497c827"},
    {"CMAC AES-128 example 4", "CMAC", sp800_38a::key_128, "", "", sp800_38a::text, "",
     "51f0bebf7e3b9d92fc49741779363cfe"},
    {"CMAC AES-256 example 1", "CMAC", sp800_38a::key_256, "", "", "", "", "028962f61b7bf89efc6b551f4667d983"},
};

struct XtsExample {
    std::string name;
    std::string key;
    std::string tweak_key;
    std::string number;  ///< number of the single data unit, little-endian
    std::string plaintext;
    std::string ciphertext;
};

inline const std::vector<XtsExample> xts_examples{
    {"IEEE 1619 vector 2", std::string(32, '1'), std::string(32, '2'), "33333333330000000000000000000000",
     std::string(64, '4'), "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0"},
    {"IEEE 1619 vector 15", "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0", "bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0",
     "9a785634120000000000000000000000", "000102030405060708090a0b0c0d0e0f10", "6c1625db4671522d3d7599601de7ca09ed"},
    {"XTSGenAES256 1", "1ea661c58d943a0e4801e42f4b0947149e7f9f8e3e68d0c7505210bd311a0e7c",
     "d6e13ffdf2418d8d1911c004cda58da3d619b7e2b9141e58318eea392cf41b08", "adf8d92627464ad2f0428e84a9f87564",
     "2eedea52cd8215e1acc647e810bbc3642e87287f8d2e57e36c0a24fbc12a202e",
     "cbaad0e2f6cea3f50b37f934d46a9b130b9d54f07e34f36af793e86f73c6d7db"},
};

}  // namespace vectors
