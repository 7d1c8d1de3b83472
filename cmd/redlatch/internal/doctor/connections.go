package doctor

import (
	"context"
	"fmt"
	"strings"
)

var settingChecks = []*Check{
	{
		ID: "idle-timeout", Level: Warn, Page: "operating.md#client-settings",
		Means: "The server closes connections that are idle for less than 30 s, so commands fail and are sent again.",
		Do:    "Set timeout to 0, or to 300 at least.",
		look: func(ctx context.Context, n *node) answer {
			seconds, err := n.count(ctx, "timeout")
			if err != nil {
				return isUnknown(err)
			}
			return foundIf(seconds > 0 && seconds < 30, "timeout is %d", seconds)
		},
	},
	{
		ID: "keepalive-off", Level: Warn, Page: "operating.md#client-settings",
		Means: "The server does not probe connections, so it keeps those of dead clients, and firewalls cut idle ones unnoticed.",
		Do:    "Set tcp-keepalive to 300, the default.",
		look: func(ctx context.Context, n *node) answer {
			seconds, err := n.count(ctx, "tcp-keepalive")
			if err != nil {
				return isUnknown(err)
			}
			return foundIf(seconds == 0, "tcp-keepalive is 0")
		},
	},
	{
		ID: "pubsub-buffer", Level: Warn, Page: "operating.md#client-settings",
		Means: "The server cuts subscribers off that have less than a megabyte of messages to read, and their messages are lost.",
		Do:    "Set client-output-buffer-limit for pubsub to 32mb 8mb 60, the default.",
		look: func(ctx context.Context, n *node) answer {
			text, err := n.setting(ctx, "client-output-buffer-limit")
			if err != nil {
				return isUnknown(err)
			}
			var hard, soft, seconds int64
			_, limits, _ := strings.Cut(text, "pubsub ")
			if _, err := fmt.Sscan(limits, &hard, &soft, &seconds); err != nil {
				return answer{unknown, "client-output-buffer-limit says nothing of pubsub"}
			}
			tiny := func(bytes int64) bool { return bytes > 0 && bytes < 1<<20 }
			return foundIf(tiny(hard) || tiny(soft), "client-output-buffer-limit is pubsub %d %d %d", hard, soft, seconds)
		},
	},
	{
		ID: "many-clients", Level: Warn, Page: "operating.md#client-settings",
		Means: "More than 90 % of the connections that the server allows are in use; further ones are refused.",
		Do:    "Raise maxclients, and the limit of open files with it, or give the programs smaller pools.",
		look: func(ctx context.Context, n *node) answer {
			share, err := n.clients(ctx)
			if err != nil {
				return isUnknown(err)
			}
			return foundIf(share > 0.9, "%.0f %% in use", share*100)
		},
	},
}

// count is a setting that is a number.
func (n *node) count(ctx context.Context, name string) (value int64, err error) {
	text, err := n.setting(ctx, name)
	if err == nil {
		_, err = fmt.Sscan(text, &value)
	}
	return value, err
}

// clients is which share of the connections that the server allows is there.
func (n *node) clients(ctx context.Context) (float64, error) {
	connected, err := n.number(ctx, "connected_clients")
	if err != nil {
		return 0, err
	}
	most, err := n.number(ctx, "maxclients")
	if err != nil {
		if most, err = n.count(ctx, "maxclients"); err != nil {
			return 0, err
		}
	}
	return float64(connected) / float64(max(most, 1)), nil
}
