package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/keys"
)

var messageChecks = []*Check{
	{
		ID: "no-subscribe", Level: Error, Page: "operating.md#acl",
		Means: "The user may not subscribe, so waiters learn of a release only by asking now and then.",
		Do:    "Permit it: ACL SETUSER <user> +subscribe +unsubscribe, on a cluster also +ssubscribe +sunsubscribe.",
		look: func(ctx context.Context, n *node) answer {
			return n.talked(ctx, func(t talk) error { return t.listening }, aboutCommand)
		},
	},
	{
		ID: "no-publish", Level: Error, Page: "operating.md#acl",
		Means: "The user may not publish, so no waiter is told of a release.",
		Do:    "Permit it: ACL SETUSER <user> +publish, on a cluster also +spublish.",
		look: func(ctx context.Context, n *node) answer {
			return n.talked(ctx, func(t talk) error { return t.publishing }, aboutCommand)
		},
	},
	{
		ID: "acl-channels", Level: Error, Page: "operating.md#acl",
		Means: "The user may not use the channels on which releases are announced.",
		Do:    "Add the patterns of the documentation to the user: ACL SETUSER <user> &redisson_*{<prefix>* &redlatch_*_row:*{<prefix>*.",
		look: func(ctx context.Context, n *node) answer {
			aboutChannel := func(err error) bool { return !aboutCommand(err) }
			if is := n.talked(ctx, func(t talk) error { return t.listening }, aboutChannel); is.state != fine {
				return is
			}
			return n.talked(ctx, func(t talk) error { return t.publishing }, aboutChannel)
		},
	},
	{
		ID: "message-lost", Level: Error, Page: "operating.md#cluster",
		Means: "A message that was published on a server did not come to a subscriber of the same server.",
		Do:    "Look for a proxy between the programs and the server that does not pass pub/sub on, and connect past it.",
		look: func(ctx context.Context, n *node) answer {
			t, err := n.talk(ctx)
			switch {
			case err != nil:
				return isUnknown(err)
			case t.listening != nil:
				return isUnknown(t.listening)
			case t.publishing != nil:
				return isUnknown(t.publishing)
			default:
				return foundIf(t.lost != nil, "%s was answered, and within %v there was no message", t.how, patience)
			}
		},
	},
}

// A talk is a message that the doctor sends to itself.
type talk struct {
	how                   string // the command that publishes
	listening, publishing error  // refusals
	lost                  error
}

func (n *node) talk(ctx context.Context) (talk, error) {
	return n.talks.of(func() (talk, error) {
		if n.name == "" {
			return talk{}, errName
		}
		if n.cluster() {
			if t, err := n.talkOn(ctx, "SPUBLISH", n.client.SSubscribe, n.client.SPublish); err != nil || !isUnknownCommand(t.listening) {
				return t, err
			}
		}
		return n.talkOn(ctx, "PUBLISH", n.client.Subscribe, n.client.Publish)
	})
}

func (n *node) talkOn(ctx context.Context, how string, subscribe func(context.Context, ...string) *redis.PubSub,
	publish func(context.Context, string, any) *redis.IntCmd) (t talk, err error) {
	t.how = how
	channel := keys.LockChannel(n.name)
	subscription := subscribe(ctx)
	defer subscription.Close()
	if how == "SPUBLISH" {
		err = subscription.SSubscribe(ctx, channel)
	} else {
		err = subscription.Subscribe(ctx, channel)
	}
	if err == nil {
		_, err = subscription.ReceiveTimeout(ctx, patience) // the confirmation
	}
	if t.listening, err = refusal(err); t.listening != nil || err != nil {
		return t, err
	}
	for _, to := range []string{channel, keys.ReadWriteChannel(n.name), keys.SemaphoreChannel(n.name), keys.LatchChannel(n.name)} {
		if t.publishing, err = refusal(publish(ctx, to, "0").Err()); t.publishing != nil || err != nil {
			return t, err
		}
	}
	_, t.lost = subscription.ReceiveTimeout(ctx, patience)
	if t.lost == nil {
		if how == "SPUBLISH" {
			err = subscription.SUnsubscribe(ctx, channel)
		} else {
			err = subscription.Unsubscribe(ctx, channel)
		}
		if err == nil {
			_, err = subscription.ReceiveTimeout(ctx, patience)
		}
		t.listening, err = refusal(err)
	}
	return t, err
}

// refusal splits an error: what the server refuses, and what went wrong besides.
func refusal(err error) (refused, other error) {
	if said := redis.Error(nil); errors.As(err, &said) {
		return err, nil
	}
	return nil, err
}

// talked is the answer of a check that looks for refusals of one sort.
func (n *node) talked(ctx context.Context, of func(talk) error, sort func(error) bool) answer {
	t, err := n.talk(ctx)
	if err != nil {
		return isUnknown(err)
	}
	said := of(t)
	switch {
	case said == nil && t.listening != nil: // it came to nothing else
		return isUnknown(t.listening)
	case said == nil:
		return isFine()
	case !isDenied(said):
		return isUnknown(said)
	case !sort(said):
		return isUnknown(fmt.Errorf("it could not be tried: %w", said))
	case !aboutCommand(said) && n.Prefix == "":
		return isUnknown(errPrefix)
	default:
		return isFound("%s", strings.TrimSpace(reason(said)))
	}
}
