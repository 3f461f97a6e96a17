// Another project's program: it links the engine and asks it one question. Exit status 0: the answer came.
#include <engine/border/border.h>

#include <cstdio>
#include <string>

int main() {
  const std::string answer = trainmem::estimate("model=llama2-7b&gpu=h100-sxm");
  std::printf("trainmem %s: %.40s...\n", trainmem::version().c_str(), answer.c_str());
  return answer.rfind(R"({"ok":true)", 0) == 0 ? 0 : 1;
}
