// A library with NVML's ABI and no GPU behind it. MUSTER_FAKE_GPUS lists the models, separated by
// commas; MUSTER_FAKE_NVML_INIT is what nvmlInit_v2 answers.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3;

const std::vector<std::string>& Models() {
  static const std::vector<std::string> models = [] {
    std::vector<std::string> list;
    const char* text = std::getenv("MUSTER_FAKE_GPUS");
    std::string rest = text != nullptr ? text : "";
    while (!rest.empty()) {
      const size_t comma = rest.find(',');
      list.push_back(rest.substr(0, comma));
      rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
    }
    return list;
  }();
  return models;
}

size_t IndexOf(void* device) { return reinterpret_cast<size_t>(device) - 1; }

int Print(char* out, unsigned size, const std::string& text) {
  return std::snprintf(out, size, "%s", text.c_str()) < static_cast<int>(size) ? kSuccess
                                                                               : kInvalidArgument;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  const char* answer = std::getenv("MUSTER_FAKE_NVML_INIT");
  return answer != nullptr ? std::atoi(answer) : kSuccess;
}
int nvmlShutdown() { return kSuccess; }
const char* nvmlErrorString(int code) {
  return code == 9 ? "Driver Not Loaded" : "Unknown Error";
}
int nvmlSystemGetDriverVersion(char* out, unsigned size) { return Print(out, size, "535.261.03"); }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(Models().size());
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= Models().size()) return kInvalidArgument;
  *device = reinterpret_cast<void*>(static_cast<size_t>(index) + 1);
  return kSuccess;
}
int nvmlDeviceGetName(void* device, char* out, unsigned size) {
  return Print(out, size, Models()[IndexOf(device)]);
}
int nvmlDeviceGetUUID(void* device, char* out, unsigned size) {
  return Print(out, size, "GPU-00000000-0000-0000-0000-00000000000" +
                              std::to_string(IndexOf(device)));
}
// As a consumer GPU answers.
int nvmlDeviceGetSerial(void*, char*, unsigned) { return kNotSupported; }
int nvmlDeviceGetVbiosVersion(void*, char* out, unsigned size) {
  return Print(out, size, "90.02.17.00.7E");
}
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* memory) {
  memory[0] = 11ull << 30;
  memory[1] = memory[0];
  memory[2] = 0;
  return kSuccess;
}
int nvmlDeviceGetPciInfo_v3(void* device, void* info) {
  std::memset(info, 0, 68);
  std::snprintf(static_cast<char*>(info) + 36, 32, "00000000:%02X:00.0",
                static_cast<unsigned>(0x3b + IndexOf(device)));
  return kSuccess;
}
int nvmlDeviceGetMinorNumber(void* device, unsigned* minor) {
  *minor = static_cast<unsigned>(IndexOf(device));
  return kSuccess;
}

}  // extern "C"
