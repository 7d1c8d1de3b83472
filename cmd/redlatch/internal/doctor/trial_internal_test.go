package doctor

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// refusing is a server that refuses the connection by a reply: go-redis leaves the commands of a pipeline without an error then.
type refusing struct{}

var errRefused = errors.New("WRONGPASS invalid username-password pair")

func (refusing) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (refusing) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (refusing) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(context.Context, []redis.Cmder) error { return errRefused }
}

func TestCommandsThatWereNotSentWereNotPermitted(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:0"})
	defer func() { require.NoError(t, client.Close()) }()
	client.AddHook(refusing{})
	n := &node{client: client}
	require.Equal(t, []error{errRefused, errRefused}, n.together(t.Context(), [][]any{{"get", "a"}, {"del", "a"}}))
}
