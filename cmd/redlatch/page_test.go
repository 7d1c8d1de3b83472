package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
)

// docs/command.md shows the table of the code.
func TestThePageHasEveryExitCode(t *testing.T) {
	page, err := os.ReadFile("../../docs/command.md")
	require.NoError(t, err)
	table := "| code | name | meaning |\n|---|---|---|\n"
	for _, row := range exit.Table {
		table += fmt.Sprintf("| %d | %s | %s |\n", row.Code, row.Name, row.Meaning)
	}
	require.Contains(t, string(page), table+"\n")
}
