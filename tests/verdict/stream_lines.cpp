// Numbers that go through C++'s streams: stream_lines NAME DIRECTORY.

#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iomanip>
#include <unistd.h>

// Each value and each blank may be what fills the buffer: four calls of one line.
static void text() {
    std::ofstream file("field.txt");
    file << std::setprecision(12);
    for (int i = 0; i < 600000; i++) file << i * 0.37 << ' ' << i << '\n';
}

// No text: each value is copied into the stream's buffer.
static void binary() {
    std::ofstream file("field.bin", std::ios::binary);
    const double values[2] = {1, 2};
    for (int i = 0; i < 6000000; i++) file.write(reinterpret_cast<const char *>(values), 16);
}

// Each write is followed by a synchronisation, and then by a pause: of one line.
static void synced() {
    static char block[60000];
    int file = open("synced.dat", O_CREAT | O_WRONLY | O_TRUNC, 0600);
    for (int i = 0; i < 200; i++) write(file, block, sizeof block), fsync(file), usleep(1000);
    close(file);
}

int main(int count, char **words) {
    if (count < 3 || chdir(words[2])) return 1;
    std::strcmp(words[1], "text") ? std::strcmp(words[1], "synced") ? binary() : synced() : text();
    return 0;
}
