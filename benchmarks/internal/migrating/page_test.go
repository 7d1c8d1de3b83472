package migrating

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	block    = regexp.MustCompile("(?ms)^```(go|java)\n(.*?)^```$")
	function = regexp.MustCompile(`(?ms)^(?:func|static \w+) \w+\(.*?^}\n`)
)

// The page shows whole functions of these files, and all of them.
func TestThePageShowsThisCode(t *testing.T) {
	page, err := os.ReadFile("../../../docs/migrating.md")
	require.NoError(t, err)
	var shown []string
	for _, found := range block.FindAllStringSubmatch(string(page), -1) {
		shown = append(shown, found[2])
	}

	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var compiled []string
	for _, file := range append(files, "../../../interop/java/src/main/java/peer/Migrating.java") {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		source := string(text)
		if filepath.Ext(file) == ".java" {
			source = regexp.MustCompile(`(?m)^ {4}`).ReplaceAllString(source, "") // its functions are in a class
		}
		compiled = append(compiled, function.FindAllString(source, -1)...)
	}
	require.Greater(t, len(compiled), 20)
	require.ElementsMatch(t, compiled, shown)
}
