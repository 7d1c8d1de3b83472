package parallel_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/redlatch/redlatch/internal/session"
)

// kept are the parts of a session that may have elements when nothing is held and nobody waits.
var kept = map[string]string{
	"Cohorts.windows": "a window that is over is removed when the next one comes, or a call for its key",
	"Listing.said":    "what was asked for is removed with the next look",
	"Own.starts.of":   "what a server has said of its start: one for each",
}

// remains lists the maps of a session that have elements, and the watchdog's heap, each by the path of its fields.
func remains(s *session.Session) []string {
	walk := walk{seen: map[unsafe.Pointer]bool{}}
	walk.pointer("", reflect.ValueOf(s))
	slices.Sort(walk.found)
	return walk.found
}

// A walk goes through the structs that a session consists of and that have a mutex. It reads the fields of each under its
// mutex, and holds one mutex at a time.
type walk struct {
	seen  map[unsafe.Pointer]bool
	found []string
	later []func()
}

func (w *walk) pointer(path string, v reflect.Value) {
	if v.IsNil() || w.seen[v.UnsafePointer()] || !ours(v.Type().Elem()) || mutexOf(v.Elem()) == nil {
		return
	}
	w.seen[v.UnsafePointer()] = true
	w.fields(path, v.Elem())
	for len(w.later) > 0 {
		next := w.later[0]
		w.later = w.later[1:]
		next()
	}
}

// ours tells of a struct whether its maps are guarded by mutexes. What the dispatcher and the reporter have belongs to the
// goroutine that works.
func ours(t reflect.Type) bool {
	of, internal := strings.CutPrefix(t.PkgPath(), "github.com/redlatch/redlatch/internal/")
	return t.Kind() == reflect.Struct && internal && of != "dispatch" && of != "reporter" && of != "lockorder"
}

// fields looks at the fields of a struct that can be addressed.
func (w *walk) fields(path string, v reflect.Value) {
	if mutex := mutexOf(v); mutex != nil {
		mutex.Lock()
		defer mutex.Unlock()
	}
	for i := range v.NumField() {
		field, name := v.Field(i), v.Type().Field(i).Name
		at := strings.TrimPrefix(path+"."+name, ".")
		switch {
		case field.Type() == reflect.TypeFor[sync.Map]():
			n := 0
			(*sync.Map)(field.Addr().UnsafePointer()).Range(func(_, value any) bool {
				if own := reflect.ValueOf(value); own.Kind() == reflect.Pointer && ours(own.Type().Elem()) {
					w.later = append(w.later, func() { w.fields(at, own.Elem()) }) // what another package has for the session
				} else {
					n++
				}
				return true
			})
			w.note(at, n)
		case field.Kind() == reflect.Interface && field.Elem().Kind() == reflect.Pointer && ours(field.Elem().Type().Elem()):
			pointer := reflect.NewAt(field.Elem().Type().Elem(), field.Elem().UnsafePointer())
			w.later = append(w.later, func() { w.pointer(at, pointer) })
		case field.Kind() == reflect.Map, field.Kind() == reflect.Slice && name == "kept":
			w.note(at, field.Len())
		case ours(field.Type()) && mutexOf(field) != nil:
			w.later = append(w.later, func() { w.fields(at, field) })
		case ours(field.Type()):
			w.fields(at, field)
		case field.Kind() == reflect.Pointer && ours(field.Type().Elem()) && !field.IsNil(): // others are not guarded by this mutex
			pointer := reflect.NewAt(field.Type().Elem(), field.UnsafePointer()) // what it points to now
			w.later = append(w.later, func() { w.pointer(at, pointer) })
		}
	}
}

func (w *walk) note(path string, n int) {
	if n > 0 && kept[path] == "" {
		w.found = append(w.found, fmt.Sprintf("%s: %d", path, n))
	}
}

// mutexOf is the mutex that guards the fields of a struct, if it has one.
func mutexOf(v reflect.Value) sync.Locker {
	for _, name := range []string{"mu", "Mutex"} {
		of, found := v.Type().FieldByName(name)
		if !found || len(of.Index) > 1 { // another struct's
			continue
		}
		field := v.FieldByIndex(of.Index)
		if l, ok := reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Interface().(sync.Locker); ok {
			return l
		}
	}
	return nil
}
