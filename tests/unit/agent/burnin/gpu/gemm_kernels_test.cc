// Compares every kernel with a product that is computed in the plain way.
#include <cmath>
#include <cstring>
#include <vector>

#include "agent/burnin/gpu/kernels/modules.h"
#include "agent/burnin/gpu/number.h"
#include "tests/fakes/nvidia/host/tensor_map.h"
#include "tests/unit/agent/burnin/gpu/kernel_on_host.h"

namespace muster::burnin {
namespace {

using kernels::Element;

constexpr int kDepth = 128;

std::vector<uint64_t> Matrix(Element type, int elements, uint64_t seed) {
  const uint64_t words = uint64_t(elements) * kernels::BytesOf(type) / 8;
  std::vector<uint64_t> out(words);
  RunKernel("fill_elements", {2, 1, 1}, 64, out.data(), words, static_cast<int>(type), seed,
            uint64_t{0});
  return out;
}

// Element `index` of the output of fill_elements, read from memory and not by its generator.
double At(Element type, const std::vector<uint64_t>& matrix, int index) {
  uint64_t bits = 0;
  const int bytes = kernels::BytesOf(type);
  std::memcpy(&bits, reinterpret_cast<const char*>(matrix.data()) + index * bytes, bytes);
  return ValueOf(type, bits);
}

// As CudaContext::MapMatrix() has the driver make it.
kernels::TensorMap MapOf(const std::vector<uint64_t>& matrix, Element type, int rows,
                         int box_rows) {
  const uint64_t row_bytes = uint64_t{kDepth} * kernels::BytesOf(type);
  const fake_nvidia::FakeTensorMap fake = {fake_nvidia::FakeTensorMap::kMark,
                                           reinterpret_cast<uint64_t>(matrix.data()),
                                           row_bytes,
                                           static_cast<uint64_t>(rows),
                                           row_bytes,
                                           128,
                                           static_cast<uint32_t>(box_rows)};
  kernels::TensorMap map = {};
  std::memcpy(&map, &fake, sizeof(fake));
  return map;
}

// How far a sum of kDepth products of up to 1 may be off: exact for integers.
double Tolerance(Element type) {
  if (type == Element::kS8) return 0;
  return type == Element::kF64 ? 1e-12 : 1e-4;
}

class GemmKernelTest : public ::testing::TestWithParam<GemmKernel> {
 protected:
  // Of C, which is square for kernels that take maps of A and B: six of their tiles, of which the
  // right ones stand out.
  int rows() const { return TakesMaps() ? 384 : 128; }
  int columns() const { return TakesMaps() ? 384 : 256; }
  bool TakesMaps() const { return GetParam().shared_bytes > 0; }
  std::vector<char> Product(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
    const GemmKernel& kernel = GetParam();
    const std::string name(kernel.name);
    std::vector<char> c(size_t(rows()) * columns() * sum_bytes(), '\x7f');
    fake_nvidia::Launch launch = {.block = {static_cast<unsigned>(kernel.threads), 1, 1},
                                  .shared_bytes = static_cast<size_t>(kernel.shared_bytes)};
    if (TakesMaps()) {
      launch.grid = {4, 1, 1};
      LaunchKernel(name.c_str(), launch, MapOf(a, kernel.type, rows(), kernel.rows),
                   MapOf(b, kernel.type, columns(), kernel.columns), c.data(),
                   static_cast<uint64_t>(columns()), uint64_t{kDepth});
    } else {
      launch.grid = {static_cast<unsigned>(columns() / kernel.columns),
                     static_cast<unsigned>(rows() / kernel.rows), 1};
      LaunchKernel(name.c_str(), launch, a.data(), b.data(), c.data(),
                   static_cast<uint64_t>(columns()), uint64_t{kDepth});
    }
    return c;
  }
  size_t sum_bytes() const { return GetParam().type == Element::kF64 ? 8 : 4; }
  double SumAt(const std::vector<char>& c, size_t index) const {
    const char* at = c.data() + index * sum_bytes();
    if (GetParam().type == Element::kF64) {
      double value;
      std::memcpy(&value, at, 8);
      return value;
    }
    uint32_t bits;
    std::memcpy(&bits, at, 4);
    return GetParam().type == Element::kS8 ? static_cast<int32_t>(bits) : FromF32(bits);
  }
};

TEST_P(GemmKernelTest, MultipliesAsThePlainWayDoes) {
  const Element type = GetParam().type;
  const auto a = Matrix(type, rows() * kDepth, 1), b = Matrix(type, columns() * kDepth, 2);
  const std::vector<char> c = Product(a, b);
  int wrong = 0;
  double largest = 0;
  for (int row = 0; row < rows(); ++row) {
    for (int column = 0; column < columns(); ++column) {
      double sum = 0;
      for (int k = 0; k < kDepth; ++k)
        sum += At(type, a, row * kDepth + k) * At(type, b, column * kDepth + k);
      const double is = SumAt(c, size_t(row) * columns() + column);
      largest = std::fmax(largest, std::fabs(sum));
      if (!(std::fabs(is - sum) <= Tolerance(type)) && ++wrong < 5)
        ADD_FAILURE() << row << "," << column << ": " << is << " instead of " << sum;
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(largest, 1);  // the data is not all zeros
}

TEST_P(GemmKernelTest, GivesTheSameBitsEveryTime) {
  const Element type = GetParam().type;
  const auto a = Matrix(type, rows() * kDepth, 7), b = Matrix(type, columns() * kDepth, 8);
  EXPECT_EQ(Product(a, b), Product(a, b));
}

INSTANTIATE_TEST_SUITE_P(Kernels, GemmKernelTest, ::testing::ValuesIn(GemmKernels()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(FillElementsTest, WritesWhatTheHostComputes) {
  for (const Element type : {Element::kF32, Element::kF64, Element::kF16, Element::kBf16,
                             Element::kTf32, Element::kE4m3, Element::kS8}) {
    SCOPED_TRACE(ElementName(type));
    const auto matrix = Matrix(type, 4096, 3);
    double low = 1e9, high = 0;
    for (int i = 0; i < 4096; ++i) {
      const double value = At(type, matrix, i);
      ASSERT_EQ(value, ValueOf(type, kernels::ElementBits(type, 3, i))) << i;
      low = std::fmin(low, std::fabs(value));
      high = std::fmax(high, std::fabs(value));
    }
    if (type == Element::kS8) continue;
    EXPECT_GE(low, 1.0 / 16);
    EXPECT_LE(high, 1);
    EXPECT_GT(high, 0.9);
  }
}

}  // namespace
}  // namespace muster::burnin
