// f16 and bf16 as C++ types: Eigen's half and bfloat16, usable with gang::view.
#pragma once

#include <Eigen/Core>

#include "gang/data_type.h"

namespace gang {

using f16 = Eigen::half;
using bf16 = Eigen::bfloat16;

template <>
struct DataTypeOf<f16> : std::integral_constant<DataType, DataType::f16> {};
template <>
struct DataTypeOf<bf16> : std::integral_constant<DataType, DataType::bf16> {};

}  // namespace gang
