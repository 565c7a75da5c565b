"""What operations are in C, in single precision: each text is one function, with its record."""

from __future__ import annotations

VIEW = """
/* Numbers of the arena: where the first is, how many channels, rows and columns there are, how far
   it is to the next of each, and which function is applied as they are read (0 for none). */
struct view { int32_t first, shape[3], steps[3], before; };
"""

READ = """
static float number_at(const struct view *view, int32_t c, int32_t y, int32_t x)
{
    const float value = arena[view->first + c * view->steps[0] + y * view->steps[1]
                              + x * view->steps[2]];
    return applied(value, view->before);
}
"""

PLACE = """
static float *place_of(const struct view *view, int32_t c, int32_t y, int32_t x)
{
    return arena + view->first + c * view->steps[0] + y * view->steps[1] + x * view->steps[2];
}
"""

DENSE = """
/* weights [inputs][outputs] times what is read, plus biases; with epsilon, of what is read minus
   its mean, divided by its deviation. */
struct dense { int32_t in, step, inputs, out, outputs, before, after; float epsilon; };

static void dense(const struct dense *layer, const float *weights, const float *biases)
{
    const float *in = arena + layer->in;
    float *restrict out = arena + layer->out;
    float mean = 0.0f, factor = 1.0f;
    int32_t i, o;
    if (layer->epsilon > 0.0f) {
        float variance = 0.0f;
        for (i = 0; i < layer->inputs; ++i)
            mean += applied(in[i * layer->step], layer->before);
        mean /= (float)layer->inputs;
        for (i = 0; i < layer->inputs; ++i) {
            const float apart = applied(in[i * layer->step], layer->before) - mean;
            variance += apart * apart;
        }
        factor = 1.0f / sqrtf(variance / (float)layer->inputs + layer->epsilon);
    }
    for (o = 0; o < layer->outputs; ++o)
        out[o] = biases ? biases[o] : 0.0f;
    for (i = 0; i < layer->inputs; ++i) {
        const float value = (applied(in[i * layer->step], layer->before) - mean) * factor;
        for (o = 0; o < layer->outputs; ++o)
            out[o] += value * weights[o];
        weights += layer->outputs;
    }
    for (o = 0; layer->after && o < layer->outputs; ++o)
        out[o] = applied(out[o], layer->after);
}
"""

CONVOLVE = """
/* weights [outputs][inputs / groups][rows][columns]; pairs are down, right. */
struct convolution {
    struct view in, out;
    int32_t kernel[2], stride[2], padding[2], dilation[2], groups, after;
};

/* Adds one weight times a channel to a channel. */
static void convolve_tap(const struct convolution *layer, float weight, int32_t i, int32_t o,
                         int32_t down, int32_t right)
{
    const int32_t wide = layer->in.shape[2], stride = layer->stride[1], step = layer->in.steps[2];
    int32_t begin = 0, end = layer->out.shape[2], x, y;
    while (begin < end && begin * stride + right < 0)
        ++begin;
    while (end > begin && (end - 1) * stride + right >= wide)
        --end;
    for (y = 0; y < layer->out.shape[1]; ++y) {
        const int32_t row = y * layer->stride[0] + down;
        const float *in;
        float *restrict out;
        if (row < 0 || row >= layer->in.shape[1] || begin == end)
            continue;
        in = place_of(&layer->in, i, row, 0) + (begin * stride + right) * step;
        out = place_of(&layer->out, o, y, 0);
        if (layer->in.before)
            for (x = begin; x < end; ++x, in += stride * step)
                out[x] += weight * applied(*in, layer->in.before);
        else
            for (x = begin; x < end; ++x, in += stride * step)
                out[x] += weight * *in;
    }
}

static void convolve(const struct convolution *layer, const float *weights, const float *biases)
{
    const int32_t inputs = layer->in.shape[0] / layer->groups;
    const int32_t outputs = layer->out.shape[0] / layer->groups;
    const int32_t area = layer->out.shape[1] * layer->out.shape[2];
    int32_t o, i, down, right, n;
    for (o = 0; o < layer->out.shape[0]; ++o) {
        float *out = place_of(&layer->out, o, 0, 0);
        for (n = 0; n < area; ++n)
            out[n] = biases ? biases[o] : 0.0f;
        for (i = 0; i < inputs; ++i)
            for (down = 0; down < layer->kernel[0]; ++down)
                for (right = 0; right < layer->kernel[1]; ++right)
                    convolve_tap(layer, *weights++, o / outputs * inputs + i, o,
                                 down * layer->dilation[0] - layer->padding[0],
                                 right * layer->dilation[1] - layer->padding[1]);
        for (n = 0; layer->after && n < area; ++n)
            out[n] = applied(out[n], layer->after);
    }
}
"""

WINDOW = """
/* What a window of pooling covers in one direction. A kernel of 0 shares all evenly. */
struct window { int32_t begin, end, counted; };

static struct window window_of(int32_t number, int32_t all, int32_t whole, int32_t kernel,
                               int32_t stride, int32_t padding, int32_t counts_padding)
{
    struct window found;
    if (kernel == 0) {
        found.begin = number * whole / all;
        found.end = ((number + 1) * whole + all - 1) / all;
        found.counted = found.end - found.begin;
        return found;
    }
    found.begin = number * stride - padding;
    found.end = found.begin + kernel;
    if (found.end > whole + padding)
        found.end = whole + padding;
    found.counted = found.end - found.begin;
    if (found.begin < 0)
        found.begin = 0;
    if (found.end > whole)
        found.end = whole;
    if (!counts_padding)
        found.counted = found.end - found.begin;
    return found;
}
"""

POOL = """
/* The largest number of each window, or their mean; pairs are down, right. */
struct pool {
    struct view in, out;
    int32_t largest, kernel[2], stride[2], padding[2], counts_padding;
};

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
                float sum = 0.0f, most = -HUGE_VALF;
                for (row = rows.begin; row < rows.end; ++row)
                    for (column = columns.begin; column < columns.end; ++column) {
                        const float value = number_at(&layer->in, c, row, column);
                        sum += value;
                        most = value > most ? value : most;
                    }
                *place_of(&layer->out, c, y, x) =
                    layer->largest ? most : sum / (float)(rows.counted * columns.counted);
            }
}
"""

LOOP = """
/* Every number of a view: `EACH(view)` is followed by what is done with c, y and x. */
#define EACH(view) \\
    for (c = 0; c < (view).shape[0]; ++c) \\
        for (y = 0; y < (view).shape[1]; ++y) \\
            for (x = 0; x < (view).shape[2]; ++x)
"""

APPLY = """
static void apply(const struct view *view, int32_t function)
{
    int32_t c, y, x;
    EACH(*view) {
        float *place = place_of(view, c, y, x);
        *place = applied(*place, function);
    }
}
"""

SCALE = """
/* Factors and shifts are as far apart as `apart` says. */
struct scaling { struct view view; int32_t apart[3], after; };

static void scale(const struct scaling *layer, const float *factors, const float *shifts)
{
    int32_t c, y, x;
    EACH(layer->view) {
        const int32_t n = c * layer->apart[0] + y * layer->apart[1] + x * layer->apart[2];
        float *place = place_of(&layer->view, c, y, x);
        *place = applied(*place * factors[n] + shifts[n], layer->after);
    }
}
"""

NORMALISE = """
/* (number - mean) / deviation of each group of channels, times a factor, plus a shift. */
struct normalising { struct view view; int32_t apart[3], groups, after; float epsilon; };

static void normalise(const struct normalising *layer, const float *factors, const float *shifts)
{
    const int32_t channels = layer->view.shape[0] / layer->groups;
    const float count = (float)(channels * layer->view.shape[1] * layer->view.shape[2]);
    struct view part = layer->view;
    int32_t c, y, x, group;
    part.shape[0] = channels;
    for (group = 0; group < layer->groups; ++group) {
        float mean = 0.0f, variance = 0.0f, factor;
        part.first = layer->view.first + group * channels * layer->view.steps[0];
        EACH(part)
            mean += *place_of(&part, c, y, x);
        mean /= count;
        EACH(part) {
            const float apart = *place_of(&part, c, y, x) - mean;
            variance += apart * apart;
        }
        factor = 1.0f / sqrtf(variance / count + layer->epsilon);
        EACH(part) {
            const int32_t n = (group * channels + c) * layer->apart[0] + y * layer->apart[1]
                              + x * layer->apart[2];
            float *place = place_of(&part, c, y, x);
            *place = applied((*place - mean) * factor * factors[n] + shifts[n], layer->after);
        }
    }
}
"""

COMBINE = """
struct combining { struct view first, second, out; int32_t kind, after; };

static void combine(const struct combining *layer)
{
    int32_t c, y, x;
    EACH(layer->out) {
        const float a = number_at(&layer->first, c, y, x);
        const float b = number_at(&layer->second, c, y, x);
        float found = a + b;
        switch (layer->kind) {
        case 1: found = a - b; break;
        case 2: found = a * b; break;
        case 3: found = a / b; break;
        case 4: found = a > b ? a : b; break;
        case 5: found = a < b ? a : b; break;
        }
        *place_of(&layer->out, c, y, x) = applied(found, layer->after);
    }
}
"""

COPY = """
struct copying { struct view in, out; };

static void copy(const struct copying *layer)
{
    int32_t c, y, x;
    EACH(layer->out)
        *place_of(&layer->out, c, y, x) = number_at(&layer->in, c, y, x);
}
"""

FILL = """
static void fill(const struct view *view, float value)
{
    int32_t c, y, x;
    EACH(*view)
        *place_of(view, c, y, x) = value;
}
"""

PICK = """
struct picking { int32_t in, step, out, count, before; };

static void pick(const struct picking *layer, const int32_t *picked)
{
    int32_t n;
    for (n = 0; n < layer->count; ++n)
        arena[layer->out + n] = applied(arena[layer->in + picked[n] * layer->step], layer->before);
}
"""

LOOKUP = """
/* Rows of a table, one after the other, by numbers that are whole. */
struct lookup { int32_t in, step, count, out, width; };

static void look_up(const struct lookup *layer, const float *table)
{
    int32_t n;
    for (n = 0; n < layer->count; ++n)
        memcpy(arena + layer->out + n * layer->width,
               table + (int32_t)arena[layer->in + n * layer->step] * layer->width,
               (size_t)layer->width * sizeof(float));
}
"""
