"""Small MJCF models: together they have every joint, and every way to say where things are and what they weigh."""

from __future__ import annotations

INERTIAL = '<inertial pos=".1 -.05 .2" mass="1.3" fullinertia=".03 .04 .05 .002 -.003 .004"/>'
BOX = '<geom type="box" size=".1 .2 .3" pos=".05 0 .1" quat=".8 .1 -.5 .2"/>'


def model(bodies: str, rest: str = "", head: str = '<compiler angle="radian"/>') -> str:
    """A document."""
    return f'<mujoco model="small">{head}<worldbody>{bodies}</worldbody>{rest}</mujoco>'


TREES = {
    "hinge": model(f'<body name="a" pos="1 2 3" euler=".1 .2 .3"><joint name="j" axis="1 2 3"/>{INERTIAL}</body>'),
    "hinge away from the origin": model(f'<body name="a"><joint name="j" axis="0 1 1" pos=".3 .1 -.2"/>{BOX}</body>'),
    "slide": model(f'<body name="a"><joint name="j" type="slide" axis="1 2 3" pos=".3 0 0"/>{BOX}</body>'),
    "ball": model(f'<body name="a"><joint name="j" type="ball"/>{INERTIAL}</body>'),
    "ball away from the origin": model(f'<body name="a"><joint name="j" type="ball" pos="0 .2 .5"/>{BOX}</body>'),
    "free": model(f'<body name="a" pos="0 0 1" quat="1 2 3 4"><freejoint name="j"/>{INERTIAL}</body>'),
    "references": model(
        f'<body name="a"><joint name="j" axis="0 1 0" ref=".7" pos=".1 .2 .3"/>{BOX}'
        f'<body name="b" pos="0 0 .4"><joint name="k" type="slide" axis="1 1 0" ref="-.3"/>{BOX}</body></body>'
    ),
    "several joints": model(
        f'<body name="a" pos="0 0 1"><joint name="x" type="slide" axis="1 0 0"/>'
        f'<joint name="h" axis="0 0 1" pos=".1 0 0" ref=".3"/>'
        f'<joint name="s" type="ball" pos="0 .3 0"/>{INERTIAL}'
        '<body name="b" pos=".3 0 0"><joint name="g" type="slide" axis="0 1 0" ref=".2"/><joint axis="0 1 1"/>'
        f"{BOX}</body></body>"
    ),
    "tree on a free base": model(
        f'<body name="base" pos="0 0 1"><freejoint/>{BOX}'
        f'<body name="l" pos="0 .3 0"><joint name="l1" axis="1 0 0" armature=".1"/>{BOX}'
        f'<body name="fix" pos=".1 0 0" euler="0 0 1">{BOX}'
        f'<body name="ll" pos=".1 0 .2"><joint name="l2" type="ball" armature=".02"/>{INERTIAL}</body></body></body>'
        f'<body name="r" pos="0 -.3 0"><joint name="r1" axis="0 1 0" damping="2" frictionloss=".3"/>{BOX}</body></body>'
        f'<body name="other" pos="3 0 0"><freejoint/>{INERTIAL}</body>'
    ),
    "armature of a ball": model(f'<body name="a"><joint name="j" type="ball" armature=".3"/>{INERTIAL}</body>'),
    "armature of actuators": model(
        f'<body name="a"><joint name="j" axis="0 1 0" armature=".05"/>{BOX}</body>',
        '<actuator><motor joint="j" gear="7" armature=".01"/></actuator>',
    ),
    "gravity": model(
        f'<body name="a"><joint name="j" axis="0 1 0"/>{BOX}</body>', head='<option gravity="1 2 -3"/>'
    ),
    "no gravity": model(
        f'<body name="a"><joint name="j" axis="0 1 0"/>{BOX}</body>',
        head='<option><flag gravity="disable"/></option>',
    ),
    "compiler": model(
        f'<body name="a"><joint name="j" axis="0 1 0"/>{BOX}<geom type="capsule" fromto="0 0 0 .3 .2 .1" size=".04"/>'
        f'<frame pos=".5 0 0" euler="0 40 0"><body name="b"><joint name="k" axis="0 0 1" range="-90 90"/>{BOX}</body>'
        "</frame></body>",
        head='<compiler eulerseq="zyx" angle="degree" inertiafromgeom="true"/>',
    ),
    "defaults and replicates": model(
        '<replicate count="3" euler="0 0 1" offset=".1 0 0"><body name="a" pos="1 0 0">'
        f'<joint name="j" class="c"/>{BOX}</body></replicate>',
        head='<default><default class="c"><joint axis="0 1 1" armature=".2"/></default></default>',
    ),
}  # fmt: skip


def two(equality: str, more: str = "") -> str:
    """A chain of two with a free body beside it, and an equality."""
    return model(
        f'<body name="a" pos="0 0 1"><joint name="j" axis="0 1 0" ref=".2"/>{BOX}'
        '<site name="s" pos=".2 .1 0" euler=".1 .2 .3"/>'
        f'<body name="b" pos=".5 0 0"><joint name="k" axis="0 1 0" ref="-.1"/>{BOX}</body>'
        f'<body name="d" pos=".5 .2 0"><joint name="m" type="slide" axis="0 1 0" ref=".05"/>{BOX}</body></body>'
        f'<body name="c" pos=".6 .1 1.2" euler=".3 .2 .1"><freejoint name="f"/>{INERTIAL}'
        '<site name="t" pos="-.1 0 .1"/></body>',
        f"{more}<equality>{equality}</equality>",
    )


TENDONS = (
    '<tendon><fixed name="u"><joint joint="j" coef="2"/><joint joint="k" coef="-1"/></fixed>'
    '<fixed name="w"><joint joint="m" coef="3"/><joint joint="k" coef=".5"/></fixed></tendon>'
)
LOOPS = {  # the model, and how many velocities its 9 leave free
    "connect": (two('<connect body1="b" body2="c" anchor=".1 .2 .3"/>'), 6),
    "connect to the world": (two('<connect body1="c" anchor=".1 .2 .3"/>'), 6),
    "connect sites": (two('<connect site1="s" site2="t"/>'), 6),
    "weld": (two('<weld body1="b" body2="c" anchor=".1 .2 .3"/>'), 3),
    "weld with a pose": (two('<weld body1="b" body2="c" anchor=".1 .2 .3" relpose=".2 .1 0 .8 .2 -.3 .4"/>'), 3),
    "weld to the world": (two('<weld body1="c" relpose="1 .1 0 .8 .2 -.3 .4"/>'), 3),
    "weld sites": (two('<weld site1="s" site2="t"/>'), 3),
    "weld that may turn": (two('<weld body1="b" body2="c" torquescale="0"/>'), 6),
    "joint": (two('<joint joint1="k" joint2="j" polycoef=".1 -2 0 0 0"/>'), 8),
    "quartic": (two('<joint joint1="m" joint2="j" polycoef=".1 -.2 .3 .4 -.5"/>'), 8),
    "held joint": (two('<joint joint1="k" polycoef=".3"/>'), 8),
    "held by a constant": (two('<joint joint1="k" joint2="j" polycoef=".3 0 0 0 0"/>'), 8),
    "tendon": (two('<tendon tendon1="u" polycoef=".3"/>', TENDONS), 8),
    "two tendons": (two('<tendon tendon1="u" tendon2="w" polycoef=".3 -.5 0 0 0"/>', TENDONS), 8),
    "several": (two('<connect body1="b" body2="c" anchor=".1 .2 .3"/><joint joint1="k" joint2="j"/>'), 5),
}
