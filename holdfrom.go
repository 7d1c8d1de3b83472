package redlatch

import (
	"context"
	"reflect"
	"strings"

	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/settings"
)

// HoldFrom returns the hold of lock that ctx carries: the innermost with which a call re-enters, if it is
// still valid. Nothing is sent. So code that runs within Do has its hold, to extend it or to show its token:
//
//	err := lock.Do(ctx, func(ctx context.Context) error {
//		hold, _ := redlatch.HoldFrom(ctx, lock)
//		return guard.For(hold).Set(ctx, value)
//	})
//
// A composite has a hold of its own, and its members have none in such a context. Of a lock of a type that is
// not of this module nothing is known.
func HoldFrom(ctx context.Context, lock Locker) (*Hold, bool) {
	if !ours(lock) {
		return nil, false // it does not know the option, and might take the lock
	}
	var is func(hold any) bool
	_, _ = lock.TryLock(context.Background(), option(func(s *settings.Settings) {
		s.Recognize = func(recognizes func(hold any) bool) { is = recognizes }
	}))
	if is == nil {
		return nil, false
	}
	for inner, keep := range holds.Carried(ctx) {
		if h, public := keep.(*Hold); public && is(inner) && h.Valid() {
			return h, true
		}
	}
	return nil, false
}

// ours tells whether the lock is of a type of this module.
func ours(lock Locker) bool {
	t := reflect.TypeOf(lock)
	if t == nil {
		return false
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	const module = "github.com/redlatch/redlatch/"
	return strings.HasPrefix(t.PkgPath()+"/", module)
}
