"""What operations in whole numbers of 8 bits are in C: each text is one function."""

from __future__ import annotations

WITHIN = """
static int8_t within_8_bits(int64_t value)
{
    return (int8_t)(value < -128 ? -128 : value > 127 ? 127 : value);
}
"""

SHIFTED = """
/* value / 2^shift, to the nearest, plus zero. */
static int8_t shifted(int64_t value, int32_t shift, int32_t zero)
{
    const int64_t whole = (int64_t)1 << shift;
    value += whole / 2;
    value = value >= 0 ? value >> shift : -((-value + whole - 1) >> shift);
    return within_8_bits(value + zero);
}
"""

ROUNDED = """
/* A real number in units of a grid. */
static int8_t rounded(float value, int32_t zero)
{
    value = floorf(value + 0.5f) + (float)zero;
    return (int8_t)(value < -128.0f ? -128.0f : value > 127.0f ? 127.0f : value);
}
"""

VIEW = """
/* Numbers of the arena: where the first is, how many channels, rows and columns there are, how far
   it is to the next of each. They stand for q - zero; what is below low is read as low, what is
   above high as high. */
struct view { int32_t first, shape[3], steps[3], zero, low, high; };
"""

PLACE = """
static int8_t *place_of(const struct view *view, int32_t c, int32_t y, int32_t x)
{
    return arena.bytes + view->first + c * view->steps[0] + y * view->steps[1]
           + x * view->steps[2];
}
"""

READ = """
static int32_t number_at(const struct view *view, int32_t c, int32_t y, int32_t x)
{
    const int32_t q = *place_of(view, c, y, x);
    return (q < view->low ? view->low : q > view->high ? view->high : q) - view->zero;
}
"""

DENSE = """
/* weights [outputs][inputs] times what is read, plus biases, times multiplier / 2^shift. */
struct dense { int32_t in, step, zero, low, high, inputs, out, outputs, out_zero; };

static void dense(const struct dense *layer, const int8_t *weights, const int32_t *biases,
                  const int32_t *multipliers, const uint8_t *shifts)
{
    const int32_t zero = layer->zero;
    int32_t i, o;
    for (o = 0; o < layer->outputs; ++o) {
        const int8_t *in = arena.bytes + layer->in;
        int32_t sum = biases ? biases[o] : 0;
        if (layer->low == -128 && layer->high == 127 && layer->step == 1)
            for (i = 0; i < layer->inputs; ++i)
                sum += (in[i] - zero) * weights[i];
        else
            for (i = 0; i < layer->inputs; ++i, in += layer->step) {
                const int32_t q = *in < layer->low    ? layer->low
                                  : *in > layer->high ? layer->high
                                                      : *in;
                sum += (q - zero) * weights[i];
            }
        weights += layer->inputs;
        arena.bytes[layer->out + o] =
            shifted((int64_t)sum * multipliers[o], shifts[o], layer->out_zero);
    }
}
"""

REAL_DENSE = """
/* The same with sums that become real numbers, which stay so, or are rounded to a grid. With
   epsilon it is done to what is read minus its mean, divided by its deviation. */
struct real_dense {
    int32_t in, step, zero, low, high, inputs, out, outputs, is_real, out_zero;
    float epsilon;
};

static void real_dense(const struct real_dense *layer, const int8_t *weights,
                       const float *factors, const float *biases)
{
    const int8_t *in = arena.bytes + layer->in;
    const float count = (float)layer->inputs;
    int64_t total = 0, squares = 0;
    float mean = 0.0f, factor = 1.0f;
    int32_t i, o;
    if (layer->epsilon > 0.0f) {
        for (i = 0; i < layer->inputs; ++i) {
            const int32_t q = in[i * layer->step];
            total += q;
            squares += q * q;
        }
        mean = (float)total / count;
        factor = (float)(layer->inputs * squares - total * total) / (count * count);
        factor = 1.0f / sqrtf(factor + layer->epsilon);
    }
    for (o = 0; o < layer->outputs; ++o) {
        int32_t sum = 0, all = 0;
        float found;
        for (i = 0; i < layer->inputs; ++i, ++weights) {
            const int32_t read = in[i * layer->step];
            const int32_t q = read < layer->low ? layer->low : read > layer->high ? layer->high
                                                                                  : read;
            sum += (layer->epsilon > 0.0f ? q : q - layer->zero) * *weights;
            all += *weights;
        }
        found = ((float)sum - mean * (float)all) * factor * factors[o] + biases[o];
        if (layer->is_real)
            arena.reals[layer->out / 4 + o] = found;
        else
            arena.bytes[layer->out + o] = rounded(found, layer->out_zero);
    }
}
"""

CONVOLVE = """
/* weights [outputs][inputs / groups][rows][columns]; pairs are down, right. */
struct convolution {
    struct view in, out;
    int32_t kernel[2], stride[2], padding[2], dilation[2], groups;
};

/* Some weights of a row times numbers that are so far apart. */
static int32_t row_sum(const struct view *in, const int8_t *weights, const int8_t *numbers,
                       int32_t count, int32_t step)
{
    const int32_t low = in->low, high = in->high, zero = in->zero;
    int32_t sum = 0, n;
    if (low == -128 && high == 127)
        for (n = 0; n < count; ++n, numbers += step)
            sum += (*numbers - zero) * weights[n];
    else
        for (n = 0; n < count; ++n, numbers += step) {
            const int32_t q = *numbers < low ? low : *numbers > high ? high : *numbers;
            sum += (q - zero) * weights[n];
        }
    return sum;
}

static int32_t convolved(const struct convolution *layer, const int8_t *weights, int32_t first,
                         int32_t y, int32_t x)
{
    const int32_t inputs = layer->in.shape[0] / layer->groups, apart = layer->dilation[1];
    const int32_t top = y * layer->stride[0] - layer->padding[0];
    const int32_t left = x * layer->stride[1] - layer->padding[1];
    int32_t sum = 0, begin = 0, end = layer->kernel[1], i, down;
    while (begin < end && left + begin * apart < 0)
        ++begin;
    while (end > begin && left + (end - 1) * apart >= layer->in.shape[2])
        --end;
    for (i = first; i < first + inputs; ++i)
        for (down = 0; down < layer->kernel[0]; ++down, weights += layer->kernel[1]) {
            const int32_t row = top + down * layer->dilation[0];
            if (row >= 0 && row < layer->in.shape[1] && begin < end)
                sum += row_sum(&layer->in, weights + begin,
                               place_of(&layer->in, i, row, left + begin * apart), end - begin,
                               apart * layer->in.steps[2]);
        }
    return sum;
}

static void convolve(const struct convolution *layer, const int8_t *weights,
                     const int32_t *biases, const int32_t *multipliers, const uint8_t *shifts)
{
    const int32_t inputs = layer->in.shape[0] / layer->groups;
    const int32_t outputs = layer->out.shape[0] / layer->groups;
    int32_t o, y, x;
    for (o = 0; o < layer->out.shape[0]; ++o) {
        const int32_t first = o / outputs * inputs;
        for (y = 0; y < layer->out.shape[1]; ++y)
            for (x = 0; x < layer->out.shape[2]; ++x) {
                const int32_t sum = (biases ? biases[o] : 0)
                                    + convolved(layer, weights, first, y, x);
                *place_of(&layer->out, o, y, x) =
                    shifted((int64_t)sum * multipliers[o], shifts[o], layer->out.zero);
            }
        weights += inputs * layer->kernel[0] * layer->kernel[1];
    }
}
"""

POOL = """
/* The largest number of each window, or their mean; pairs are down, right. */
struct pool {
    struct view in, out;
    int32_t largest, kernel[2], stride[2], padding[2], counts_padding, multiplier, shift;
};

/* sum / count with 8 bits of fraction, to the nearest. */
static int64_t mean_of(int64_t sum, int64_t count)
{
    const int64_t twice = 512 * sum + count;
    return twice >= 0 ? twice / (2 * count) : -((-twice + 2 * count - 1) / (2 * count));
}

static void pool(const struct pool *layer)
{
    int32_t c, y, x, row, column;
    for (c = 0; c < layer->out.shape[0]; ++c)
        for (y = 0; y < layer->out.shape[1]; ++y)
            for (x = 0; x < layer->out.shape[2]; ++x) {
                const struct window rows = window_of(
                    y, layer->out.shape[1], layer->in.shape[1], layer->kernel[0],
                    layer->stride[0], layer->padding[0], layer->counts_padding);
                const struct window columns = window_of(
                    x, layer->out.shape[2], layer->in.shape[2], layer->kernel[1],
                    layer->stride[1], layer->padding[1], layer->counts_padding);
                int32_t sum = 0, most = -512;
                for (row = rows.begin; row < rows.end; ++row)
                    for (column = columns.begin; column < columns.end; ++column) {
                        const int32_t value = number_at(&layer->in, c, row, column);
                        sum += value;
                        most = value > most ? value : most;
                    }
                *place_of(&layer->out, c, y, x) =
                    layer->largest
                        ? within_8_bits(most + layer->out.zero)
                        : shifted(mean_of(sum, rows.counted * columns.counted)
                                      * layer->multiplier, layer->shift, layer->out.zero);
            }
}
"""

APPLY = """
/* What each of the 256 numbers becomes. */
static void apply(const struct view *view, const int8_t *table)
{
    int32_t c, y, x;
    EACH(*view) {
        int8_t *place = place_of(view, c, y, x);
        *place = table[*place + 128];
    }
}
"""

SCALE = """
/* Factors and shifts are as far apart as `apart` says. */
struct scaling { struct view view; int32_t apart[3], shift, zero; };

static void scale(const struct scaling *layer, const int32_t *factors, const int32_t *shifts)
{
    int32_t c, y, x;
    EACH(layer->view) {
        const int32_t n = c * layer->apart[0] + y * layer->apart[1] + x * layer->apart[2];
        const int64_t found = (int64_t)number_at(&layer->view, c, y, x) * factors[n] + shifts[n];
        *place_of(&layer->view, c, y, x) = shifted(found, layer->shift, layer->zero);
    }
}
"""

NORMALISE = """
/* (number - mean) / deviation of each group of channels, times a factor, plus a shift. */
struct normalising { struct view view; int32_t apart[3], groups, zero; float epsilon; };

static void normalise(const struct normalising *layer, const float *factors, const float *shifts)
{
    const int32_t channels = layer->view.shape[0] / layer->groups;
    const int32_t all = channels * layer->view.shape[1] * layer->view.shape[2];
    const float count = (float)all;
    struct view part = layer->view;
    int32_t c, y, x, group;
    part.shape[0] = channels;
    for (group = 0; group < layer->groups; ++group) {
        int64_t total = 0, squares = 0;
        float mean, factor;
        part.first = layer->view.first + group * channels * layer->view.steps[0];
        EACH(part) {
            const int32_t q = *place_of(&part, c, y, x);
            total += q;
            squares += q * q;
        }
        mean = (float)total / count;
        factor = (float)(all * squares - total * total) / (count * count);
        factor = 1.0f / sqrtf(factor + layer->epsilon);
        EACH(part) {
            const int32_t n = (group * channels + c) * layer->apart[0] + y * layer->apart[1]
                              + x * layer->apart[2];
            int8_t *place = place_of(&part, c, y, x);
            *place = rounded(((float)*place - mean) * factor * factors[n] + shifts[n],
                             layer->zero);
        }
    }
}
"""

COMBINE = """
/* Two numbers, each times a factor, or their product times the first factor; then / 2^shift. */
struct combining { struct view first, second, out; int32_t product, a, b, shift; };

static void combine(const struct combining *layer)
{
    int32_t c, y, x;
    EACH(layer->out) {
        const int64_t first = number_at(&layer->first, c, y, x);
        const int64_t second = number_at(&layer->second, c, y, x);
        const int64_t found = layer->product ? first * second * layer->a
                                             : first * layer->a + second * layer->b;
        *place_of(&layer->out, c, y, x) = shifted(found, layer->shift, layer->out.zero);
    }
}
"""

COPY = """
/* Without a shift numbers mean the same at both places. */
struct copying { struct view in, out; int32_t multiplier, shift; };

static void copy(const struct copying *layer)
{
    int32_t c, y, x;
    EACH(layer->out) {
        const int64_t value = number_at(&layer->in, c, y, x);
        *place_of(&layer->out, c, y, x) =
            layer->shift ? shifted(value * layer->multiplier, layer->shift, layer->out.zero)
                         : within_8_bits(value + layer->out.zero);
    }
}
"""

QUANTISE = """
/* Real numbers, to the nearest whole ones. */
struct quantising { int32_t in, step, out, out_step, count, zero; float unit; };

static void quantise(const struct quantising *layer)
{
    int32_t n;
    for (n = 0; n < layer->count; ++n)
        arena.bytes[layer->out + n * layer->out_step] =
            rounded(arena.reals[layer->in / 4 + n * layer->step] / layer->unit, layer->zero);
}
"""

FILL = """
static void fill(const struct view *view, int8_t value)
{
    int32_t c, y, x;
    EACH(*view)
        *place_of(view, c, y, x) = value;
}
"""

PICK = """
struct picking { int32_t in, step, out, count; };

static void pick(const struct picking *layer, const int32_t *picked)
{
    int32_t n;
    for (n = 0; n < layer->count; ++n)
        arena.reals[layer->out / 4 + n] = arena.reals[layer->in / 4 + picked[n] * layer->step];
}
"""

SCALE_CODES = """
/* Codes, each times a factor, plus a shift. */
static void scale_codes(int32_t first, int32_t count, const float *factors, const float *shifts)
{
    int32_t n;
    for (n = 0; n < count; ++n)
        arena.reals[first / 4 + n] = arena.reals[first / 4 + n] * factors[n] + shifts[n];
}
"""

LOOKUP = """
/* Rows of a table, one after the other, by codes. */
struct lookup { int32_t in, step, count, out, width; };

static void look_up(const struct lookup *layer, const int8_t *table)
{
    int32_t n;
    for (n = 0; n < layer->count; ++n)
        memcpy(arena.bytes + layer->out + n * layer->width,
               table + (int32_t)arena.reals[layer->in / 4 + n * layer->step] * layer->width,
               (size_t)layer->width);
}
"""
