package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheCommandLineCanBeTypedAgainAndNamesNoFolder(t *testing.T) {
	require.Equal(t, "go -C benchmarks run .", commandLine(nil))
	require.Equal(t, "go -C benchmarks run . -only 'own|hot' -rounds=3 -short",
		commandLine([]string{"-only", "own|hot", "-out", "/some/where", "-rounds=3", "--out=else", "-short"}))
}

func TestCoresAtWorkAreThoseThatAreNeitherIdleNorWaitForADisk(t *testing.T) {
	busy, all := parseJiffies("cpu  1 20 300 4000 50000 6 70 800 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n")
	require.EqualValues(t, 1+20+300+6+70+800, busy)
	require.EqualValues(t, busy+4000+50000, all)
	busy, all = parseJiffies("nonsense")
	require.Zero(t, busy+all)
}
