// Package stats turns blocks of measurements into the few numbers that are shown.
package stats

import (
	"cmp"
	"math"
	"slices"
)

// A Summary is what is shown of the values of all blocks: the median, and the quartiles as the spread.
type Summary struct {
	Median float64 `json:"median"`
	Q1     float64 `json:"q1"`
	Q3     float64 `json:"q3"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	N      int     `json:"n"`
}

// Summarize sums up values in any order. Without values everything is 0.
func Summarize(values []float64) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	sorted := slices.Sorted(slices.Values(values))
	return Summary{
		Median: Quantile(sorted, 0.5), Q1: Quantile(sorted, 0.25), Q3: Quantile(sorted, 0.75),
		Min: sorted[0], Max: sorted[len(sorted)-1], N: len(sorted),
	}
}

// Quantile reads the value below which the share q of sorted values lies, between two neighbours in proportion.
// Without values it is 0.
func Quantile[T cmp.Ordered](sorted []T, q float64) T {
	var zero T
	if len(sorted) == 0 {
		return zero
	}
	place := q * float64(len(sorted)-1)
	below := int(math.Floor(place))
	if below+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return between(sorted[below], sorted[below+1], place-float64(below))
}

// between goes the share part of the way from one value to the next; what has no halves stays at the nearer one.
func between[T cmp.Ordered](low, high T, part float64) T {
	if low, ok := any(low).(float64); ok {
		return any(low + part*(any(high).(float64)-low)).(T)
	}
	if part < 0.5 {
		return low
	}
	return high
}

// Jain is the index of fairness of the shares that callers got: 1 when all got the same, 1/n when one got everything.
// Nothing shared is fair.
func Jain(shares []int64) float64 {
	var sum, squares float64
	for _, share := range shares {
		sum += float64(share)
		squares += float64(share) * float64(share)
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(shares)) * squares)
}

// Smallest is the smallest share as a part of the fair one: 1 when all got the same, 0 when somebody got nothing.
// Nothing shared is fair.
func Smallest(shares []int64) float64 {
	var sum int64
	for _, share := range shares {
		sum += share
	}
	if sum == 0 {
		return 1
	}
	return float64(slices.Min(shares)) * float64(len(shares)) / float64(sum)
}
