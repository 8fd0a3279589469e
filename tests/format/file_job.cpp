#include "file_job.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "format/tink_key.hpp"

namespace warpaes::test {

FileResult run_aead(Engine& engine, const AeadJob& job) {
    return run_file(engine, job, *aead_format(job, job));
}

Keyset keyset_of(const std::vector<StreamKey>& keys) {
    if (keys.front().parameters.format->tink_type.empty()) {
        return Keyset::from_raw(template_name_of(keys.front().parameters), keys.front().key);
    }
    std::string json = "{\"primaryKeyId\":" + std::to_string(keys.front().id) + ",\"key\":[";
    for (const StreamKey& key : keys) {
        const SecretVector value = serialize_tink_key(key);
        Bytes text(value.size() * 2 + 8);
        const int n = EVP_EncodeBlock(text.data(), value.data(), static_cast<int>(value.size()));
        if (json.back() == '}') json += ",";
        json += "{\"keyData\":{\"typeUrl\":\"" + std::string(key.parameters.format->tink_type) + "\",\"value\":\"" +
                std::string(text.begin(), text.begin() + n) +
                "\",\"keyMaterialType\":\"SYMMETRIC\"},\"status\":\"ENABLED\",\"keyId\":" + std::to_string(key.id) +
                ",\"outputPrefixType\":\"RAW\"}";
    }
    return Keyset::parse(json + "]}");
}

void FileJobTest::SetUp() {
    std::signal(SIGPIPE, SIG_IGN);
}

void FileJobTest::write_file(const std::string& name, const Bytes& bytes) const {
    std::ofstream(path(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

Bytes FileJobTest::read_file(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

AeadJob FileJobTest::job(Direction direction, const Keyset& keyset, const std::string& from,
                         const std::string& to) const {
    AeadJob job;
    job.direction = direction;
    job.keyset = &keyset;
    job.input.path = path(from);
    job.output.path = path(to);
    return job;
}

FileJobTest::Piped FileJobTest::run_piped(AeadJob job, const Bytes* input) {
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    EXPECT_EQ(::pipe(out), 0);
    Piped piped;
    std::jthread feeder, drain([&] {
        Bytes part(65536);
        for (ssize_t n = 0; (n = ::read(out[0], part.data(), part.size())) > 0;) {
            piped.output.insert(piped.output.end(), part.begin(), part.begin() + n);
        }
    });
    if (input != nullptr) {
        EXPECT_EQ(::pipe(in), 0);
        feeder = std::jthread([&] {
            for (std::size_t at = 0; at < input->size();) {
                const ssize_t n = ::write(in[1], input->data() + at, input->size() - at);
                if (n <= 0) break;
                at += static_cast<std::size_t>(n);
            }
            ::close(in[1]);
        });
        job.input = {"", in[0]};
    }
    job.output = {"", out[1]};
    const Failure failure = failure_of([&] { piped.result = run_aead(engine_, job); });
    piped.status = failure.status;
    piped.sentence = failure.sentence;
    ::close(out[1]);
    if (input != nullptr) ::close(in[0]);
    drain.join();
    ::close(out[0]);
    return piped;
}

Failure failure_of(const std::function<void()>& body) {
    try {
        body();
    } catch (const Error& e) {
        return {e.status(), e.what()};
    }
    return {};
}

}  // namespace warpaes::test
