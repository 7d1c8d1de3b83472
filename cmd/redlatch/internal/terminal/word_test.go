package terminal_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
)

func TestAShellReadsAWordAsTheName(t *testing.T) {
	require.Equal(t, "orders:42", terminal.Word("orders:42"))
	require.Equal(t, "'{orders}'", terminal.Word("{orders}"))
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	for name := range hostile {
		for _, text := range []string{name, name + "1", "it's " + name, "$(id) `id` " + name} {
			out, err := exec.CommandContext(t.Context(), bash, "-c", "printf %s "+terminal.Word(text)).Output()
			require.NoError(t, err)
			require.Equal(t, text, string(out), terminal.Word(text))
		}
	}
}
