"""E"""


def real_images_figures():
    return ()
