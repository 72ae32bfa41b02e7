"""The action phase but for combat: raids, marches, consolidating Power."""
