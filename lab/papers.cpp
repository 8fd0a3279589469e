#include "lab/experiment.hpp"

namespace lab {

const char* letter_of(Paper paper) {
    switch (paper) {
    case Paper::gibadullin:
        return "N";
    case Paper::gu:
        return "G";
    case Paper::paracrypt:
        return "P";
    case Paper::damjanovic:
        return "D";
    case Paper::harrison:
        return "H";
    case Paper::jiang:
        return "K";
    case Paper::tezcan:
        return "T";
    case Paper::hajihassani:
        return "B";
    case Paper::lam:
        return "F";
    case Paper::ours:
        return "W";
    }
    return "?";
}

const char* citation_of(Paper paper) {
    switch (paper) {
    case Paper::gibadullin:
        return "R. Gibadullin, A. Yakovlev, A. Novikov, M. Perukhin: Acceleration of AES encryption on the NVIDIA CUDA "
               "platform (in Russian), after K. Iwai, N. Nishikawa, T. Kurokawa, 2010; GeForce GTX 285, CUDA 2.3";
    case Paper::gu:
        return "Gu, Gao, Bao, Xiang: High-speed AES based on GPGPU and CUDA (in Chinese), 2011; GeForce GTX 285, CUDA "
               "2.3";
    case Paper::paracrypt:
        return "J. Martín Berlanga: Paracrypt, a high-performance AES cipher on GPUs (talk, in Spanish)";
    case Paper::damjanovic:
        return "Damjanović: Experiments with the use of GPU devices as cryptographic accelerators (in Serbian); "
               "GeForce "
               "GT 525M and GT 740M";
    case Paper::harrison:
        return "O. Harrison, J. Waldron: Practical symmetric key cryptography on modern graphics hardware, 2008; "
               "GeForce 8800 GTX";
    case Paper::jiang:
        return "Z. H. Jiang, Y. Fei, D. Kaeli: A complete key recovery timing attack on a GPU, 2016; Tesla K40";
    case Paper::tezcan:
        return "C. Tezcan: Optimization of Advanced Encryption Standard on graphics processing units, 2021; GeForce "
               "RTX "
               "2070 Super";
    case Paper::hajihassani:
        return "O. Hajihassani, S. K. Monfared, S. H. Khasteh, S. Gorgin: Fast AES implementation: a high-throughput "
               "bitsliced approach, 2019; Tesla V100";
    case Paper::lam:
        return "M. Lam and others: GPU-based private information retrieval for on-device machine learning inference, "
               "2024, and its code; Tesla P100";
    case Paper::ours:
        return "warpaes: beyond the published experiments";
    }
    return "";
}

}  // namespace lab
