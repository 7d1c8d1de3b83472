package evidence

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../../.."

// tests are the tests and benchmarks of all modules of this repository, each with the folders of the packages
// that have it.
var tests = sync.OnceValues(func() (map[string][]string, error) {
	found := map[string][]string{}
	err := walk(".go", func(name string) error {
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if ok && f.Recv == nil && (strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Benchmark")) {
				found[f.Name.Name] = append(found[f.Name.Name], path.Dir(name))
			}
		}
		return nil
	})
	return found, err
})

// walk calls visit with each file of that kind, by its path in the repository.
func walk(ext string, visit func(name string) error) error {
	return fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || len(entry.Name()) > 1 && entry.Name()[0] == '.'):
			return fs.SkipDir
		case !entry.IsDir() && path.Ext(name) == ext:
			return visit(name)
		}
		return nil
	})
}

func read(t *testing.T, name string) string {
	text, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(text)
}
