package fencedlock

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"net"
	"reflect"
	"time"

	"github.com/redlatch/redlatch/internal/errs"
)

// settled gives the arguments of a guarded command the form in which they stay. The command may be sent more
// than once, also after the caller has gone on, so a buffer is copied and a pointer followed now. What the
// client library cannot send is refused now: it would find out in the middle of a pipeline, which breaks the
// connection for everybody in it.
func (g *Guard) settled(args []any) ([]any, error) {
	values := make([]any, len(args))
	for i, arg := range args {
		value, err := settledValue(arg)
		if err != nil {
			return nil, fmt.Errorf("%w: guard %q: argument %d, a %T, cannot be sent: %w", errs.Invalid, g.Name(), i+1, arg, err)
		}
		values[i] = value
	}
	return values, nil
}

func settledValue(arg any) (any, error) {
	if arg == nil {
		return "", nil
	}
	t := reflect.TypeOf(arg)
	if plain(t) {
		return arg, nil
	}
	if t.Kind() == reflect.Pointer && plain(t.Elem()) {
		if value := reflect.ValueOf(arg); !value.IsNil() {
			return value.Elem().Interface(), nil
		}
		return reflect.Zero(t.Elem()).Interface(), nil
	}
	switch arg := arg.(type) {
	case []byte:
		return bytes.Clone(arg), nil
	case encoding.BinaryMarshaler:
		return arg.MarshalBinary()
	case net.IP:
		return bytes.Clone(arg), nil
	}
	return nil, errors.New("make a string or a []byte of it, or have it implement encoding.BinaryMarshaler")
}

// plain tells whether the client library knows how to send a type, and its values cannot change behind one's
// back.
func plain(t reflect.Type) bool {
	switch {
	case t == reflect.TypeFor[time.Time](), t == reflect.TypeFor[time.Duration]():
		return true
	case t.PkgPath() != "": // a type of somebody's own, which it takes for none of its own
		return false
	}
	return t.Kind() == reflect.String || reflect.Bool <= t.Kind() && t.Kind() <= reflect.Float64
}
