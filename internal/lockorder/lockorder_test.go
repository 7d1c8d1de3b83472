//go:build !lockorder

package lockorder

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestAMutexIsNothingButAMutex(t *testing.T) {
	require.Equal(t, unsafe.Sizeof(sync.Mutex{}), unsafe.Sizeof(Mutex[Registry]{}))
	var m Mutex[Registry]
	var l sync.Locker = &m
	require.Zero(t, testing.AllocsPerRun(100, func() {
		l.Lock()
		Unlocked("nothing")
		Waits[Send](&m)
		Has[Send](&m)
		Gone[Send](&m)
		l.Unlock()
	}))
}

// free are the folders whose mutexes are in no order.
var free = []string{
	"benchmarks", "cmd", "examples", "interop", "proof", // programs
	"internal/test", "redlatchtest", // for tests, and for those of programs
	"internal/lockorder",
	"fleet", // one, of a function, under which nothing is called
}

func TestEveryMutexOfTheLibraryHasAClass(t *testing.T) {
	root := os.DirFS("../..")
	looked := 0
	require.NoError(t, fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (slices.Contains(free, name) || name != "." && strings.HasPrefix(path.Base(name), ".")):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		looked++
		text, err := fs.ReadFile(root, name)
		require.NoError(t, err)
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, text, 0)
		require.NoError(t, err)
		for _, at := range bare(file) {
			t.Errorf("%v: a bare mutex; give it a class of internal/lockorder", files.Position(at))
		}
		return nil
	}))
	require.Greater(t, looked, 200)
}

// bare are the places of mutexes without a class. One of which there are none, for go vet, is no mutex.
func bare(file *ast.File) (at []token.Pos) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ArrayType:
			none, ok := n.Len.(*ast.BasicLit)
			return !ok || none.Value != "0"
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && of.Name == "sync" && (n.Sel.Name == "Mutex" || n.Sel.Name == "RWMutex") {
				at = append(at, n.Pos())
			}
		}
		return true
	})
	return at
}

func TestABareMutexIsFound(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
import "sync"
type a struct { _ [0]sync.Mutex; mu sync.RWMutex; all [2]sync.Mutex }
func f() { var mu sync.Mutex; mu.Lock() }`, 0)
	require.NoError(t, err)
	require.Len(t, bare(file), 3)
}
