package main_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const self = "github.com/redlatch/redlatch/proof/internal/"

// What judges imports the standard library, porcupine, and what is named here: nothing that it judges, and no client of
// a server.
func TestWhatJudgesImportsNothingOfWhatItJudges(t *testing.T) {
	const porcupine = "github.com/anishathalye/porcupine"
	for folder, may := range map[string][]string{
		"history": nil,
		"judge":   {self + "history"},
		"models":  {self + "history", self + "judge", porcupine},
		"verdict": {self + "history", self + "judge", self + "models"},
	} {
		files, err := filepath.Glob(filepath.Join("internal", folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no files: %v", folder, err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range file.Imports {
				path, err := strconv.Unquote(one.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				itself := strings.HasSuffix(name, "_test.go") && path == self+folder
				if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") && !itself && !slices.Contains(may, path) {
					t.Errorf("%s imports %s", name, path)
				}
			}
		}
	}
}
