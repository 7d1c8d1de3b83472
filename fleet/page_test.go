package fleet_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What docs/fleet.md shows of a List is what ExampleList writes.
func TestThePageShowsWhatTheExampleWrites(t *testing.T) {
	example, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	_, output, found := strings.Cut(string(example), "\t// Output:\n")
	require.True(t, found)
	output, _, _ = strings.Cut(output, "}\n")
	page, err := os.ReadFile("../docs/fleet.md")
	require.NoError(t, err)
	require.Contains(t, string(page), "```\n"+strings.ReplaceAll(output, "\t// ", "")+"```\n")
}
