// Only its precompiled header is wanted.
int main() {}
