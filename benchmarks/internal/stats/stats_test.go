package stats

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJainIsOneWhenAllGotTheSame(t *testing.T) {
	require.InDelta(t, 1.0, Jain([]int64{7, 7, 7, 7}), 1e-12)
}

func TestJainIsOneOverNWhenOneGotEverything(t *testing.T) {
	require.InDelta(t, 0.25, Jain([]int64{0, 9, 0, 0}), 1e-12)
}

func TestJainOfTwoToOne(t *testing.T) {
	require.InDelta(t, 0.9, Jain([]int64{2, 1}), 1e-12) // 3² / (2 · (4 + 1))
}

func TestNothingSharedIsFair(t *testing.T) {
	require.InDelta(t, 1.0, Jain([]int64{0, 0}), 0)
	require.InDelta(t, 1.0, Smallest([]int64{0, 0}), 0)
}

func TestSmallestShareIsToldBesideTheFairOne(t *testing.T) {
	require.InDelta(t, 0.5, Smallest([]int64{5, 10, 15}), 1e-12)
	require.InDelta(t, 0.0, Smallest([]int64{0, 10}), 0)
	require.InDelta(t, 1.0, Smallest([]int64{3, 3}), 1e-12)
}

func TestSummaryIsOfTheOrderedValues(t *testing.T) {
	got := Summarize([]float64{5, 1, 4, 2, 3})
	require.Equal(t, Summary{Median: 3, Q1: 2, Q3: 4, Min: 1, Max: 5, N: 5}, got)
}

func TestSummaryLeavesTheValuesInTheirOrder(t *testing.T) {
	values := []float64{3, 1, 2}
	Summarize(values)
	require.Equal(t, []float64{3, 1, 2}, values)
}

func TestMedianOfAnEvenNumberLiesBetween(t *testing.T) {
	require.InDelta(t, 2.5, Summarize([]float64{1, 2, 3, 4}).Median, 1e-12)
}

func TestQuantilesOfFewAndNoValues(t *testing.T) {
	require.Equal(t, Summary{}, Summarize(nil))
	require.InDelta(t, 8.0, Quantile([]float64{8}, 0.99), 0)
	require.Equal(t, int64(99), Quantile([]int64{1, 99}, 0.99))
}

func TestNinetyNinthPercentileOfAHundredAndOne(t *testing.T) {
	sorted := make([]int64, 101)
	for i := range sorted {
		sorted[i] = int64(i)
	}
	require.Equal(t, int64(99), Quantile(sorted, 0.99))
}
