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
