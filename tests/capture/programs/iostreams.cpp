// iostreams.cpp: writes and reads ./file by C++'s streams.
#include <fstream>
#include <iostream>
#include <string>

int main()
{
    std::string line;
    long lines = 0, numbers = 0, number;
    std::ofstream out("file");
    for (int i = 0; i < 5000; i++)
        out << "line " << i << (i % 1000 ? '\n' : '!') << (i % 500 ? "" : "\n") << std::flush;
    out << std::string(20000, 'x') << "\n";
    out.close();
    std::ifstream in("file");
    while (std::getline(in, line))
        lines++;
    std::fstream both("file", std::ios::in | std::ios::out | std::ios::ate);
    for (int i = 0; i < 3000; i++)
        both << i << ' ';
    both.seekg(-3000, std::ios::end);
    while (both >> number)
        numbers++;
    std::cout << lines << ' ' << numbers << std::endl;
}
