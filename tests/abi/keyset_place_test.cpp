// Tests keyset places through the C ABI: every kind of place, invalid places, and hostile callers, programs and files.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <warpaes/files.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "folder.hpp"

namespace {

using Text = std::string;

const Text secret = "hunter2 hunter2";

struct Loaded {
    warpaes_status status = WARPAES_OK;
    Text json;      ///< JSON of the keyset, or empty
    Text sentence;  ///< error message
    Text name;      ///< template of the first key
};

Loaded load(const char* place, const warpaes_place_options* options = nullptr) {
    Loaded loaded;
    warpaes_keyset* keyset = reinterpret_cast<warpaes_keyset*>(1);
    loaded.status = warpaes_keyset_load(place, options, &keyset);
    if (loaded.status != WARPAES_OK) {
        EXPECT_EQ(keyset, nullptr) << place;
        loaded.sentence = warpaes_last_error();
        return loaded;
    }
    std::size_t length = 0;
    loaded.json.resize(65536);
    if (warpaes_keyset_write(keyset, loaded.json.data(), loaded.json.size(), &length) != WARPAES_OK) length = 0;
    loaded.json.resize(length);
    warpaes_key_info info = WARPAES_KEY_INFO_INIT;
    EXPECT_EQ(warpaes_keyset_query(keyset, 0, &info), WARPAES_OK);
    loaded.name = info.template_name;
    warpaes_keyset_destroy(keyset);
    return loaded;
}

Loaded load(const Text& place, const warpaes_place_options* options = nullptr) {
    return load(place.c_str(), options);
}

class KeysetPlaces : public testing::Test {
protected:
    static void SetUpTestSuite() {
        warpaes_keyset* keyset = nullptr;
        ASSERT_EQ(warpaes_keyset_create(&keyset), WARPAES_OK);
        ASSERT_EQ(warpaes_keyset_add(keyset, "AES128_GCM_HKDF_4KB", nullptr), WARPAES_OK);
        Text room(65536, '\0');
        std::size_t length = 0;
        const auto taken = [&] { return room.substr(0, length); };
        ASSERT_EQ(warpaes_keyset_write(keyset, room.data(), room.size(), &length), WARPAES_OK);
        clear_ = taken();
        const warpaes_scrypt cost = WARPAES_SCRYPT_INIT;
        ASSERT_EQ(warpaes_keyset_wrap(keyset, secret.data(), secret.size(), &cost, room.data(), room.size(), &length),
                  WARPAES_OK);
        locked_ = taken();
        for (const Text aad : {"", "backup; of May"}) {
            ASSERT_EQ(warpaes_keyset_wrap_under(keyset, kek.data(), kek.size(), aad.data(), aad.size(), room.data(),
                                                room.size(), &length),
                      WARPAES_OK);
            (aad.empty() ? under_ : bound_) = taken();
        }
        warpaes_keyset_destroy(keyset);
    }

    void SetUp() override {
        before_ = std::filesystem::current_path();
        std::filesystem::current_path(folder_.path());
        for (const auto& [name, content] : {std::pair<Text, Text>{"clear", clear_},
                                            {"locked", locked_},
                                            {"under", under_},
                                            {"bound", bound_},
                                            {"kek", kek},
                                            {"word", secret + "\n"}}) {
            write(name, content);
        }
        for (const auto& [name, value] : {std::pair<Text, Text>{"PLACES_KEYSET", clear_},
                                          {"PLACES_LOCKED", locked_},
                                          {"PLACES_KEK", kek},
                                          {"PLACES_WORD", secret}}) {
            ::setenv(name.c_str(), value.c_str(), 1);
        }
    }
    void TearDown() override {
        std::filesystem::current_path(before_);
        for (const char* name : {"PLACES_KEYSET", "PLACES_LOCKED", "PLACES_KEK", "PLACES_WORD"}) ::unsetenv(name);
    }

    static void write(const Text& name, const Text& content, mode_t mode = 0600) {
        std::ofstream(name, std::ios::binary) << content;
        ::chmod(name.c_str(), mode);
    }
    static Text content(const Text& name) {
        std::ostringstream text;
        text << std::ifstream(name, std::ios::binary).rdbuf();
        return text.str();
    }

    static void refused(const Text& place, warpaes_status status, const Text& words,
                        const warpaes_place_options* options = nullptr) {
        const Loaded loaded = load(place, options);
        EXPECT_EQ(loaded.status, status) << place << ": " << loaded.sentence;
        EXPECT_NE(loaded.sentence.find(words), Text::npos) << place << ": " << loaded.sentence;
        EXPECT_EQ(loaded.sentence.find("hunter2"), Text::npos) << loaded.sentence;
        EXPECT_EQ(loaded.sentence.find(kek.substr(0, 32)), Text::npos) << loaded.sentence;
    }

    static inline const Text kek = Text(32, '0') + Text(32, 'f');
    static inline Text clear_, locked_, under_, bound_;
    oracle::Folder folder_;
    std::filesystem::path before_;
};

struct Answer {
    Text text = secret;
    int result = 0;
    std::size_t length = static_cast<std::size_t>(-1);  ///< reported length; -1 means the length of the text
    std::vector<Text> questions{};

    warpaes_place_options options() {
        warpaes_place_options given = WARPAES_PLACE_OPTIONS_INIT;
        given.user = this;
        given.ask = [](void* user, const char* question, char* passphrase, std::size_t capacity, std::size_t* length) {
            auto& self = *static_cast<Answer*>(user);
            self.questions.emplace_back(question);
            EXPECT_GE(capacity, 4096u);
            const std::size_t n = std::min(capacity, self.text.size());
            std::memcpy(passphrase, self.text.data(), n);
            *length = self.length != static_cast<std::size_t>(-1) ? self.length : n;
            return self.result;
        };
        return given;
    }
};

TEST_F(KeysetPlaces, EveryKindGivesTheSameKeyset) {
    for (const Text place :
         {"clear", "file:clear", "clear:clear", "clear:file:clear", "env:PLACES_KEYSET", "exec:cat clear",
          "passphrase=word;locked", "passphrase=env:PLACES_WORD;env:PLACES_LOCKED",
          "passphrase=exec:printf %s '';; cat word;file:locked", "kek=kek;under", "kek=env:PLACES_KEK;file:under",
          "kek=exec:cat kek;exec:cat under", "kek=kek;kek-aad=backup;; of May;bound",
          "kek-aad=backup;; of May;kek=file:kek;bound", "kek=kek;kek-aad=;under"}) {
        EXPECT_EQ(load(place).json, clear_) << place << ": " << warpaes_last_error();
    }
    const int keyset = ::open("locked", O_RDONLY), word = ::open("word", O_RDONLY);
    EXPECT_EQ(load("passphrase=fd:" + std::to_string(word) + ";fd:" + std::to_string(keyset)).json, clear_);
    ::close(keyset);
    ::close(word);
}

TEST_F(KeysetPlaces, FilesWithOtherNamesAndKinds) {
    for (const Text name : {"a;b", "with space", "-", "a=b", "exec", "Übung"}) {
        std::filesystem::copy("clear", name);
        EXPECT_EQ(load(name).json, clear_) << name << ": " << warpaes_last_error();
    }
    std::filesystem::copy("clear", "env:PLACES_KEYSET");  // the environment variable takes precedence
    ::unsetenv("PLACES_KEYSET");
    EXPECT_EQ(load("env:PLACES_KEYSET").status, WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(load("./env:PLACES_KEYSET").json, clear_);
    std::filesystem::copy("clear", "kind:file");  // a file of this name exists
    EXPECT_EQ(load("kind:file").json, clear_);
    std::filesystem::copy("clear", "name=a;b");
    refused("name=a;b", WARPAES_ERROR_ARGUMENT, "unknown name=");
    EXPECT_EQ(load("file:name=a;b").json, clear_);
    ASSERT_EQ(::mkfifo("pipe", 0600), 0);
    std::thread writer([&] { std::ofstream("pipe") << clear_; });
    EXPECT_EQ(load("pipe").json, clear_);
    writer.join();
}

TEST_F(KeysetPlaces, WhatIsNoPlaceOrDoesNotOpenIsRefused) {
    const struct {
        Text place;
        warpaes_status status;
        Text words;
    } cases[] = {
        {"", WARPAES_ERROR_ARGUMENT, "place: is empty"},
        {"clear:", WARPAES_ERROR_ARGUMENT, "empty"},
        {"kek=env:PLACES_KEK;", WARPAES_ERROR_ARGUMENT, "empty"},
        {"kek=;under", WARPAES_ERROR_ARGUMENT, "kek= is empty"},
        {"kek=kek;kek=kek;under", WARPAES_ERROR_ARGUMENT, "kek= is given twice"},
        {"pasphrase=hunter2;locked", WARPAES_ERROR_ARGUMENT, "unknown pasphrase="},
        {"passphrase=hunter2;;", WARPAES_ERROR_ARGUMENT, "must be followed by ';'"},
        {"passphrase=word;kek=kek;under", WARPAES_ERROR_ARGUMENT, "cannot be combined"},
        {"passphrase=word;passphrase:locked", WARPAES_ERROR_ARGUMENT, "cannot be combined"},
        {"kek=kek;clear:under", WARPAES_ERROR_ARGUMENT, "cannot be combined"},
        {"passphrase:clear:locked", WARPAES_ERROR_ARGUMENT, "cannot be combined"},
        {"kek-aad=hunter2;under", WARPAES_ERROR_ARGUMENT, "kek-aad= requires kek="},
        {"own:", WARPAES_ERROR_ARGUMENT, "place: own: means the keyset at the start of an encrypted file"},
        {"passphrase:own:", WARPAES_ERROR_ARGUMENT, "own:"},
        {"aws-kms://alias/hunter2", WARPAES_ERROR_ARGUMENT, "warpaes keysources open"},
        {"kek=aws-kms://alias/hunter2;under", WARPAES_ERROR_ARGUMENT, "exec:'warpaes keysources open"},
        {"kek=vault-transit+http://h/hunter2;under", WARPAES_ERROR_ARGUMENT, "vault-transit+http: keys"},
        {"kek=gcp-kms://hunter2;under", WARPAES_ERROR_ARGUMENT, "gcp-kms: keys"},
        {"evn:hunter2", WARPAES_ERROR_ARGUMENT, "no places of the kind evn:"},
        {"fd:hunter2", WARPAES_ERROR_ARGUMENT, "is not the number of a descriptor"},
        {"fd:-1", WARPAES_ERROR_ARGUMENT, "is not the number of a descriptor"},
        {"fd:99999999999", WARPAES_ERROR_ARGUMENT, "is not the number of a descriptor"},
        {"fd:999999", WARPAES_ERROR_READ, "place fd:999999: cannot read"},
        {"env:hunter2 hunter2", WARPAES_ERROR_ARGUMENT, "there is no environment variable"},
        {"env:", WARPAES_ERROR_ARGUMENT, "there is no environment variable"},
        {"env:PLACES_NONE", WARPAES_ERROR_ARGUMENT, "there is no environment variable PLACES_NONE"},
        {"exec: ", WARPAES_ERROR_ARGUMENT, "must be followed by a command that prints a key"},
        {"exec:false hunter2", WARPAES_ERROR_READ, "place exec: 'false …': failed with exit status 1"},
        {"exec:no-such-program hunter2", WARPAES_ERROR_READ, "was not found"},
        {"exec:kill -9 $$", WARPAES_ERROR_READ, "ended by signal 9"},
        {"exec:true", WARPAES_ERROR_KEYSET, "printed nothing"},
        {"exec:cat clear; false", WARPAES_ERROR_READ, "its output was not used"},
        {"hunter2", WARPAES_ERROR_NOT_FOUND, "there is no file of this name, which is not repeated"},
        {"clear/hunter2", WARPAES_ERROR_NOT_FOUND, "not repeated"},
        {Text(5000, 'h'), WARPAES_ERROR_NOT_FOUND, "not repeated"},
        {".", WARPAES_ERROR_READ, "cannot read"},
        {kek, WARPAES_ERROR_ARGUMENT, "must be the place of a key, not the key"},
        {"passphrase=hunter2;locked", WARPAES_ERROR_NOT_FOUND, "must be the place of a passphrase"},
        {"passphrase=env:PLACES_NONE;locked", WARPAES_ERROR_ARGUMENT, "passphrase=: there is no environment variable"},
        {"passphrase=kek;locked", WARPAES_ERROR_AUTHENTICATION, "'locked'"},
        {"kek=hunter2;under", WARPAES_ERROR_NOT_FOUND, "kek=: there is no file"},
        {"kek=word;under", WARPAES_ERROR_KEYSET, "'under' under 'word'"},
        {"kek=kek;bound", WARPAES_ERROR_AUTHENTICATION, "'bound' under 'kek'"},
        {"kek=kek;kek-aad=backup;bound", WARPAES_ERROR_AUTHENTICATION, "'bound' under 'kek'"},
        {"locked", WARPAES_ERROR_KEYSET, "'locked': is encrypted under a passphrase: write passphrase:"},
        {"under", WARPAES_ERROR_KEYSET, "'under': is encrypted under a key: write kek=PLACE;"},
        {"kek=kek;locked", WARPAES_ERROR_KEYSET, "is encrypted under a passphrase, not under the key of kek="},
        {"passphrase=word;under", WARPAES_ERROR_KEYSET, "is encrypted under a key"},
        {"clear:locked", WARPAES_ERROR_KEYSET, "is encrypted, but clear: requires an unencrypted keyset"},
        {"passphrase=word;clear", WARPAES_ERROR_KEYSET, "'clear': is not an encrypted keyset, and passphrase="},
        {"passphrase:clear", WARPAES_ERROR_KEYSET, "is not an encrypted keyset, and passphrase:"},
        {"kek=kek;clear", WARPAES_ERROR_KEYSET, "is not an encrypted keyset, and kek="},
        {"word", WARPAES_ERROR_KEYSET, "'word'"},
        {"/dev/null", WARPAES_ERROR_KEYSET, "'/dev/null'"},
        {"/dev/zero", WARPAES_ERROR_KEYSET, "is longer than"},
        {"exec:yes", WARPAES_ERROR_KEYSET, "is longer than"},
        {"exec:trap '' TERM PIPE; while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done 2>/dev/null",
         WARPAES_ERROR_KEYSET, "is longer than"},
    };
    for (const auto& each : cases) refused(each.place, each.status, each.words);
    warpaes_keyset* keyset = nullptr;
    EXPECT_EQ(warpaes_keyset_load(nullptr, nullptr, &keyset), WARPAES_ERROR_ARGUMENT);
    EXPECT_STREQ(warpaes_last_error(), "place: is null");
    EXPECT_EQ(warpaes_keyset_load("clear", nullptr, nullptr), WARPAES_ERROR_ARGUMENT);
    EXPECT_STREQ(warpaes_last_error(), "keyset: is null");
    warpaes_place_options options{};
    refused("clear", WARPAES_ERROR_ARGUMENT, "struct_size", &options);
}

TEST_F(KeysetPlaces, AFunctionIsAskedForThePassphrase) {
    Answer right, with_line;
    with_line.text += "\r\n";
    warpaes_place_options options = right.options();
    EXPECT_EQ(load("passphrase:locked", &options).json, clear_) << warpaes_last_error();
    EXPECT_EQ(right.questions, std::vector<Text>{"Passphrase of 'locked'"});
    options = with_line.options();
    EXPECT_EQ(load("passphrase:env:PLACES_LOCKED", &options).json, clear_) << warpaes_last_error();
    refused("passphrase:locked", WARPAES_ERROR_ARGUMENT, "the function ask in the options is NULL");
}

TEST_F(KeysetPlaces, WhatItAnswersIsChecked) {
    const struct {
        Answer answer;
        warpaes_status status;
        Text words;
    } cases[] = {
        {{"hunter2", 0}, WARPAES_ERROR_AUTHENTICATION, "'locked'"},
        {{"hunter2", 7}, WARPAES_ERROR_CANCELLED, "the function ask returned 7"},
        {{"", 0}, WARPAES_ERROR_ARGUMENT, "empty"},
        {{"\n", 0}, WARPAES_ERROR_ARGUMENT, "empty"},
        {{"hunter2\nhunter2", 0}, WARPAES_ERROR_ARGUMENT, "more than one line"},
        {{"hunter2", 0, 4097}, WARPAES_ERROR_ARGUMENT, "reports 4097 bytes, but its buffer has 4096"},
        {{"hunter2", 0, static_cast<std::size_t>(-2)}, WARPAES_ERROR_ARGUMENT, "bytes, but its buffer has 4096"},
    };
    for (const auto& each : cases) {
        Answer answer = each.answer;
        const warpaes_place_options options = answer.options();
        refused("passphrase:locked", each.status, each.words, &options);
        EXPECT_EQ(answer.questions.size(), 1u);
    }
}

TEST_F(KeysetPlaces, NobodyIsAskedForWhatCannotBeOpened) {
    Answer answer;
    const warpaes_place_options options = answer.options();
    Text costly = locked_;
    const std::size_t at = costly.find("131072");
    ASSERT_NE(at, Text::npos);
    for (const Text n : {"1099511627776", "131073", "2"}) {
        write("costly", Text(costly).replace(at, 6, n));
        refused("passphrase:costly", WARPAES_ERROR_KEYSET, "'costly'", &options);
        refused("passphrase=word;costly", WARPAES_ERROR_KEYSET, "'costly'");
        if (n == "131073") break;  // a keyset with a lower cost opens or fails like any other keyset
    }
    refused("passphrase:under", WARPAES_ERROR_KEYSET, "is encrypted under a key", &options);
    refused("passphrase:kek", WARPAES_ERROR_KEYSET, "is not an encrypted keyset", &options);
    refused("passphrase:none", WARPAES_ERROR_NOT_FOUND, "no file", &options);
    EXPECT_TRUE(answer.questions.empty());
}

TEST_F(KeysetPlaces, RawKeys) {
    const Text raw("\x01\xfe\x80\x02\x9b\xc3\x11\x00\xff\x7f\x03\xaa\xd0\x99\x8e\x05", 16);
    write("raw", raw);
    write("hex", kek + "\n");
    write("own", "C2SP_CHUNKED_256 " + kek);
    write("text", "hunter2 hunter2!");
    EXPECT_EQ(load("raw").name, "AES128_GCM_HKDF_1MB");
    EXPECT_EQ(load("hex").name, "AES256_GCM_HKDF_1MB");
    EXPECT_EQ(load("own").name, "C2SP_CHUNKED_256");
    EXPECT_EQ(load("env:PLACES_KEK").name, "AES256_GCM_HKDF_1MB");
    refused("text", WARPAES_ERROR_KEYSET, "'text': key: is text");
    warpaes_place_options options = WARPAES_PLACE_OPTIONS_INIT;
    options.template_name = "AES128_CTR_HMAC_SHA256_4KB";
    EXPECT_EQ(load("raw", &options).name, options.template_name);
    refused("own", WARPAES_ERROR_ARGUMENT, "template: the key in 'own' is for C2SP_CHUNKED_256", &options);
    refused("clear", WARPAES_ERROR_ARGUMENT, "template: applies only to raw keys", &options);
    refused("kek=kek;under", WARPAES_ERROR_ARGUMENT, "template: applies only to raw keys", &options);
    options.template_name = "none";
    refused("raw", WARPAES_ERROR_ARGUMENT, "none", &options);
    refused("kek=kek;raw", WARPAES_ERROR_KEYSET, "is not an encrypted keyset");
}

TEST_F(KeysetPlaces, FilesOpenToOthersAreWarnedOf) {
    std::vector<Text> said;
    warpaes_place_options options = WARPAES_PLACE_OPTIONS_INIT;
    options.user = &said;
    options.warning = [](void* user, const char* sentence) {
        static_cast<std::vector<Text>*>(user)->emplace_back(sentence);
    };
    EXPECT_EQ(load("kek=kek;under", &options).json, clear_);
    EXPECT_TRUE(said.empty());
    ::chmod("clear", 0644);
    ::chmod("kek", 0604);
    EXPECT_EQ(load("clear", &options).json, clear_);
    EXPECT_EQ(load("kek=kek;under", &options).json, clear_);
    ASSERT_EQ(said.size(), 2u);
    EXPECT_EQ(said[0], "'clear' is open to other users of this machine (mode 644); `chmod 600` closes it");
    EXPECT_EQ(said[1], "'kek' is open to other users of this machine (mode 604); `chmod 600` closes it");
    EXPECT_EQ(load("exec:test " + kek + " && cat clear", &options).json, clear_);
    ASSERT_EQ(said.size(), 3u);
    EXPECT_NE(said[2].find("looks like a key"), Text::npos);
    EXPECT_EQ(said[2].find(kek), Text::npos);
}

TEST_F(KeysetPlaces, ProgramsInheritNoKeys) {
    ::setenv("WARPAES_KEYSET", "passphrase=env:PLACES_WORD;env:PLACES_LOCKED", 1);
    ::setenv("WARPAES_KEYSET_OLD", "hunter2", 1);
    ::setenv("PLACES_OTHER", "kept", 1);
    const int leak = ::open("kek", O_RDONLY);  // without O_CLOEXEC
    ASSERT_GE(leak, 0);
    EXPECT_EQ(load("kek=env:PLACES_KEK;exec:env > said; ls /proc/self/fd > open; wc -c > input; cat under").status,
              WARPAES_OK)
        << warpaes_last_error();
    const Text said = content("said");
    EXPECT_NE(said.find("PLACES_OTHER=kept"), Text::npos);
    EXPECT_NE(said.find("PLACES_KEYSET="), Text::npos);  // no part of the place names this variable
    for (const Text name : {"PLACES_KEK=", "PLACES_WORD=", "PLACES_LOCKED=", "WARPAES_KEYSET"}) {
        EXPECT_EQ(said.find(name), Text::npos) << name;
    }
    EXPECT_EQ(content("open"), "0\n1\n2\n3\n");  // 3 is the folder that ls opens
    EXPECT_EQ(std::stoi(content("input")), 0);
    ::close(leak);
    for (const char* name : {"WARPAES_KEYSET", "WARPAES_KEYSET_OLD", "PLACES_OTHER"}) ::unsetenv(name);
}

TEST_F(KeysetPlaces, ProgramsOfProcessesWithUnusualSignalsAndDescriptors) {
    const auto in_child = [](const std::function<bool()>& body) {
        const pid_t child = ::fork();
        if (child == 0) {
            ::alarm(60);
            ::_exit(body() ? 0 : 1);
        }
        int status = -1;
        return ::waitpid(child, &status, 0) == child && status == 0;
    };
    EXPECT_TRUE(in_child([] {
        sigset_t all;
        sigfillset(&all);
        sigdelset(&all, SIGALRM);
        pthread_sigmask(SIG_SETMASK, &all, nullptr);
        return load("exec:yes").status == WARPAES_ERROR_KEYSET &&
               load("exec:while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done").status == WARPAES_ERROR_KEYSET &&
               load("exec:cat clear").json == clear_;
    }));
    EXPECT_TRUE(in_child([] {
        ::signal(SIGCHLD, SIG_IGN);
        const Loaded loaded = load("exec:cat clear");
        return loaded.status == WARPAES_ERROR_READ && loaded.sentence.find("SIGCHLD") != Text::npos;
    }));
    for (int closed = 1; closed < 8; ++closed) {
        EXPECT_TRUE(in_child([closed] {
            for (int fd = 0; fd < 3; ++fd) {
                if ((closed >> fd & 1) != 0) ::close(fd);
            }
            return load("exec:cat clear").json == clear_ && load("exec:cat").status == WARPAES_ERROR_KEYSET;
        })) << closed;
    }
}

TEST_F(KeysetPlaces, FilesThatAreHuge) {
    write("huge", "");
    ASSERT_EQ(::truncate("huge", std::int64_t{1} << 40), 0);
    refused("huge", WARPAES_ERROR_KEYSET, "'huge': is longer than 1048575 bytes");
    refused("passphrase=huge;locked", WARPAES_ERROR_KEYSET, "passphrase=: is longer than");
    refused("kek=huge;under", WARPAES_ERROR_KEYSET, "'huge': is longer than");
    write("long", Text(5000, 'x'));
    refused("passphrase=long;locked", WARPAES_ERROR_ARGUMENT, "is longer than 4096 bytes");
}

TEST_F(KeysetPlaces, RandomTextIsRefusedAndNotRepeated) {
    const std::vector<Text> pieces = {
        "passphrase=", "passphrase:", "kek=", "kek-aad=", "clear:", "own:", "env:",     "fd:", "file:", ";", ";;", ":",
        "=",           "hunter2?",    "none", "99999",    "\xff",   "\n",   "aws-kms:", "a",   "-",     "/", " ",  "'"};
    std::mt19937 random(43);
    std::size_t refusals = 0;
    for (int i = 0; i < 20000; ++i) {
        Text place;
        for (auto left = random() % 9; left-- > 0;) place += pieces[random() % pieces.size()];
        const Loaded loaded = load(place);
        EXPECT_NE(loaded.status, WARPAES_ERROR_INTERNAL) << place;
        if (loaded.status == WARPAES_OK) continue;
        ++refusals;
        ASSERT_FALSE(loaded.sentence.empty());
        ASSERT_EQ(loaded.sentence.find("hunter2?"), Text::npos) << place << ": " << loaded.sentence;
    }
    EXPECT_EQ(refusals, 20000u);
}

TEST_F(KeysetPlaces, SavedAtAPlaceAndLoadedFromIt) {
    warpaes_keyset* keyset = nullptr;
    ASSERT_EQ(warpaes_keyset_load("clear", nullptr, &keyset), WARPAES_OK);
    const warpaes_scrypt cost = WARPAES_SCRYPT_INIT;
    const mode_t mask = ::umask(0);
    for (const Text opener :
         {"", "clear:", "kek=kek;", "kek=env:PLACES_KEK;kek-aad=a;;b;", "passphrase=word;", "passphrase:"}) {
        Answer answer;
        warpaes_place_options options = answer.options();
        options.cost = &cost;
        const Text place = opener + "file:new";
        ASSERT_EQ(warpaes_keyset_save(keyset, place.c_str(), &options), WARPAES_OK) << warpaes_last_error();
        struct stat status {};
        ASSERT_EQ(::stat("new", &status), 0);
        EXPECT_EQ(status.st_mode & 0777, 0600u);
        const bool is_clear = opener.empty() || opener == "clear:";
        EXPECT_EQ(content("new") == clear_, is_clear);
        EXPECT_EQ(content("new").find("encryptedKeyset") == Text::npos, is_clear);
        if (opener == "passphrase:") {
            EXPECT_EQ(answer.questions, std::vector<Text>{"New passphrase of 'new'"});
        }
        EXPECT_EQ(load(opener + "new", &options).json, clear_) << opener << warpaes_last_error();
        EXPECT_EQ(warpaes_keyset_save(keyset, place.c_str(), &options), WARPAES_ERROR_EXISTS);
        std::filesystem::remove("new");
    }
    ::umask(mask);
    const auto names = folder_.names();
    Answer silent;
    silent.result = 1;
    const warpaes_place_options options = silent.options();
    const auto refused_saving = [&](const char* place, warpaes_status status, const Text& words) {
        EXPECT_EQ(warpaes_keyset_save(keyset, place, &options), status) << place;
        EXPECT_NE(Text(warpaes_last_error()).find(words), Text::npos) << warpaes_last_error();
    };
    refused_saving("env:A", WARPAES_ERROR_ARGUMENT, "can be saved only in a file");
    refused_saving("exec:cat", WARPAES_ERROR_ARGUMENT, "can be saved only in a file");
    refused_saving("fd:1", WARPAES_ERROR_ARGUMENT, "can be saved only in a file");
    refused_saving("own:", WARPAES_ERROR_ARGUMENT, "own:");
    refused_saving("file:", WARPAES_ERROR_ARGUMENT, "empty");
    refused_saving("aws-kms:key", WARPAES_ERROR_ARGUMENT, "aws-kms:");
    refused_saving("none/new", WARPAES_ERROR_WRITE, "none/new");
    refused_saving("passphrase:new", WARPAES_ERROR_CANCELLED, "ask returned 1");
    refused_saving("kek=none;new", WARPAES_ERROR_NOT_FOUND, "kek=");
    refused_saving("kek=word;new", WARPAES_ERROR_KEYSET, "'word'");
    refused_saving("clear", WARPAES_ERROR_EXISTS, "never overwritten");
    std::filesystem::create_symlink("nowhere", "link");
    refused_saving("link", WARPAES_ERROR_EXISTS, "never overwritten");
    std::filesystem::remove("link");
    EXPECT_EQ(warpaes_keyset_save(nullptr, "new", nullptr), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(warpaes_keyset_save(keyset, nullptr, nullptr), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(folder_.names(), names);
    EXPECT_EQ(content("clear"), clear_);
    warpaes_keyset_destroy(keyset);
}

TEST_F(KeysetPlaces, SixThreadsAndAForkBetweenThem) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i) {
        threads.emplace_back([] {
            for (const char* place : {"clear", "exec:cat clear", "kek=exec:cat kek;under", "env:PLACES_KEYSET",
                                      "kek=env:PLACES_KEK;exec:cat under", "file:clear"}) {
                for (int n = 0; n < 5; ++n) EXPECT_EQ(load(place).json, clear_) << place;
            }
        });
    }
    for (int n = 0; n < 10; ++n) {
        const pid_t child = ::fork();
        if (child == 0) {
            ::alarm(60);
            const bool right = load("kek=exec:cat kek;under").json == clear_ && load("clear").json == clear_;
            ::_exit(right ? 0 : 1);
        }
        int status = -1;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    for (std::thread& thread : threads) thread.join();
}

}  // namespace
