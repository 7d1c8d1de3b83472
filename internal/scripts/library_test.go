package scripts_test

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// A call keeps the client library's command of its first send by value, so that both are one piece of memory: the command
// is copied before anybody has seen it. That is right for as long as a new command is its context, its arguments and its
// kind, and nothing that refers to itself or is already in use. A version of the library that keeps more in it fails here.
func TestANewCommandOfTheClientLibraryCanBeCopied(t *testing.T) {
	var set []string
	var look func(v reflect.Value)
	look = func(v reflect.Value) {
		for i := range v.NumField() {
			switch field := v.Type().Field(i); {
			case field.Anonymous:
				look(v.Field(i))
			case !v.Field(i).IsZero():
				set = append(set, field.Name)
			}
		}
	}
	look(reflect.ValueOf(redis.NewIntCmd(context.Background(), "evalsha", "sha", 1, "key")).Elem())
	slices.Sort(set)
	require.Equal(t, []string{"args", "cmdType", "ctx"}, set)
}
