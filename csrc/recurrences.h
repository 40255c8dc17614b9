/* One instruction set in one precision. No include guards: variants.h includes this several times. */

#include "product.h"

#include "pointwise.h"

#include "rounding.h"

#include "rows.h"

#include "simple.h"

#include "gated.h"

#include "gated_backward.h"

#include "lstm.h"

#include "lstm_backward.h"

#undef LANES
#undef DEPTH
#undef EXPONENT_SHIFT
#undef EXPONENT_BIAS
#undef ROUNDING
#undef EXP_LOW
#undef EXP_HIGH
#undef FOR_ACTIVATION
#undef INPUT_OF
